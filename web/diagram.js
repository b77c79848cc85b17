// Draws a factor graph: variables and arrays of them, factors, and plates as boxes.
//
// What a factor makes of its inputs stands below it, priors above their variable, what observes it below. Each plate is a
// column of the drawing, so that boxes never overlap; the first column is what is on no plate.

const cell = { width: 148, height: 68 };
const pill = { height: 30, letter: 7.4, least: 58, most: 132 };
const margin = 18;
const square = 11;
const labelRoom = 36;  // to the right of the last factor of a plate

// Their first variable is what they make of the others.
const makers = new Set(['sum', 'product', 'leaky_relu', 'lognormal_copy', 'inner_product', 'gaussian_precision']);
const priors = new Set(['prior', 'gamma_prior']);

function svg(tag, attributes = {}, ...children) {
  const result = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) result.setAttribute(name, value);
  result.append(...children.flat().filter((child) => child != null));
  return result;
}

const isSource = (factor) => factor.edges.length === 1 && priors.has(factor.type);
const inputsOf = (factor) => (makers.has(factor.type) ? factor.edges.slice(1) : factor.edges);
const outputOf = (factor) => (makers.has(factor.type) ? factor.edges[0] : null);

// The row of every variable and factor, from the top. With a cycle of makers the rows are those after some rounds.
function rows({ variables, factors }) {
  const depth = variables.map(() => 0);
  const below = (factor) => Math.max(0, ...inputsOf(factor).map((v) => depth[v])) + 1;
  const made = new Set(factors.map(outputOf));
  for (let round = 0, moved = true; moved && round < 40; ++round) {
    moved = false;
    for (const factor of factors.filter((one) => outputOf(one) !== null)) {
      const output = outputOf(factor);
      if (depth[output] > below(factor)) continue;
      depth[output] = below(factor) + 1;
      moved = true;
    }
  }
  // What nothing makes stands just above its first use.
  variables.forEach((_, v) => {
    const uses = factors.filter((factor) => inputsOf(factor).includes(v) && factor.edges.length > 1);
    if (!made.has(v) && uses.length > 0) depth[v] = Math.min(...uses.map(below)) - 1;
  });
  const all = [...depth, ...factors.map((factor) => (isSource(factor) ? depth[factor.edges[0]] - 1 : below(factor)))];
  const used = [...new Set(all)].sort((a, b) => a - b);
  return all.map((row) => used.indexOf(row));
}

// {x, y, row, column, neighbours} of every variable, then of every factor; and the columns.
function place(graph) {
  const names = ['', ...graph.plates.map(({ name }) => name)];
  const row = rows(graph);
  const all = [...graph.variables, ...graph.factors];
  const nodes = all.map(({ plate }, k) => ({ row: row[k], column: Math.max(0, names.indexOf(plate)), neighbours: [] }));
  graph.factors.forEach(({ edges }, f) =>
    edges.forEach((v) => {
      nodes[v].neighbours.push(nodes[graph.variables.length + f]);
      nodes[graph.variables.length + f].neighbours.push(nodes[v]);
    }),
  );
  const cells = new Map();
  for (const node of nodes) {
    const key = `${node.column} ${node.row}`;
    cells.set(key, [...(cells.get(key) ?? []), node]);
  }
  const columns = names.map((name, column) => {
    const own = [...cells.values()].filter((list) => list[0].column === column);
    return { name, width: cell.width * Math.max(0, ...own.map((list) => list.length)) };
  });
  let left = margin;
  for (const column of columns) {
    column.left = left;
    if (column.width > 0) left += column.width + 2 * margin + labelRoom;
  }
  const spread = (list) => {
    const { left: start, width } = columns[list[0].column];
    list.forEach((node, k) => (node.x = start + ((k + 0.5) * width) / list.length));
  };
  for (const list of cells.values()) spread(list);
  // Everything near what it is connected to.
  const centre = ({ neighbours, x }) => (neighbours.length > 0 ? neighbours.reduce((sum, one) => sum + one.x, 0) / neighbours.length : x);
  for (let round = 0; round < 12; ++round) {
    for (const list of cells.values()) {
      const wanted = new Map(list.map((node) => [node, centre(node)]));
      list.sort((a, b) => wanted.get(a) - wanted.get(b));
      spread(list);
    }
  }
  for (const node of nodes) node.y = 2 * margin + (node.row + 0.5) * cell.height;
  return { nodes, columns, width: left, height: 4 * margin + (Math.max(...nodes.map((node) => node.row)) + 1) * cell.height };
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function variable({ name, text, state, moving, improper }, { x, y }) {
  const width = Math.min(pill.most, Math.max(pill.least, 22 + pill.letter * name.length));
  const troubles = [moving > 0 ? `${moving} still moving` : null, improper > 0 ? `${improper} no distribution` : null].filter(Boolean);
  const said = [text, ...troubles].join(', ');
  return svg(
    'g',
    { class: `variable ${state}` },
    svg('title', {}, `${name}: ${said}`),
    svg('rect', { x: x - width / 2, y: y - pill.height / 2, width, height: pill.height, rx: pill.height / 2 }),
    svg('text', { x, y: y + 4.5, class: 'name' }, shortened(name, 15)),
    svg('text', { x, y: y + pill.height / 2 + 13, class: 'belief' }, shortened(troubles.length > 0 ? troubles.join(', ') : text, 24)),
  );
}

function factor({ name, type, factors }, { x, y }) {
  const own = name.includes('#') ? type.replaceAll('_', ' ') : name;
  const count = factors > 1 ? `${factors.toLocaleString('en')} factors of type ${type}` : `type ${type}`;
  return svg(
    'g',
    { class: 'factor' },
    svg('title', {}, `${name}: ${count}`),
    svg('rect', { x: x - square / 2, y: y - square / 2, width: square, height: square, rx: 1.5 }),
    svg('text', { x: x + square, y: y + 4 }, shortened(own, 15)),
  );
}

export function diagram(graph) {
  const { nodes, columns, width, height } = place(graph);
  const count = graph.variables.length;
  const lines = graph.factors.flatMap(({ edges }, f) =>
    edges.map((v) => svg('line', { x1: nodes[count + f].x, y1: nodes[count + f].y, x2: nodes[v].x, y2: nodes[v].y })),
  );
  const boxes = columns.slice(1).map((column, k) => {
    const own = nodes.filter((node) => node.column === k + 1);
    if (own.length === 0) return null;
    const top = Math.min(...own.map((node) => node.y)) - cell.height / 2 - 6;
    const bottom = Math.max(...own.map((node) => node.y)) + cell.height / 2 + 18;
    return svg(
      'g',
      { class: 'plate' },
      svg('rect', { x: column.left - 6, y: top, width: column.width + 12 + labelRoom, height: bottom - top, rx: 8 }),
      svg('text', { x: column.left + column.width + labelRoom - 4, y: bottom - 8 }, `${column.name} × ${graph.plates[k].size.toLocaleString('en')}`),
    );
  });
  return svg(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      style: `width: 100%; max-width: ${width}px; min-width: ${Math.min(width, Math.max(320, 0.7 * width))}px`,
      role: 'img',
      'aria-label': `A factor graph: ${graph.variables.map(({ name }) => name).join(', ')}`,
    },
    boxes,
    lines,
    graph.factors.map((one, f) => factor(one, nodes[count + f])),
    graph.variables.map((one, v) => variable(one, nodes[v])),
  );
}
