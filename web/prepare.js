// Reshapes lists of the results for the charts.

const finite = (values) => values.filter((value) => Number.isFinite(value));
const unique = (values) => [...new Set(values)];
const between = (low, high) => (value) => (value == null ? value : Math.min(high, Math.max(low, value)));

// The vertical range of an output: truth and rows, and as much again above and below.
function frame(rows) {
  const seen = finite(rows.flatMap((row) => [row.truth, row.y]));
  const shown = seen.length > 0 ? seen : finite(rows.flatMap((row) => [row.lower, row.upper]));
  const low = Math.min(...shown);
  const high = Math.max(...shown);
  return between(low - (high - low), high + (high - low));
}

// One panel per method and output, with the training rows in each panel of their output.
export function bandPanels({ band = [], points = [] }) {
  const outputs = unique(band.map((row) => row.output));
  const title = (method, output) => (outputs.length > 1 ? `${method}, output ${output}` : method);
  return outputs.flatMap((output) => {
    const ofOutput = (row) => row.output === output;
    const own = band.filter(ofOutput);
    const rows = points.filter(ofOutput);
    const clip = frame([...own, ...rows]);
    const methods = unique(own.map((row) => row.method));
    return [
      ...own.map((row) => ({
        ...row,
        panel: title(row.method, output),
        shown_mean: clip(row.mean),
        shown_lower: clip(row.lower),
        shown_upper: clip(row.upper),
        shown_truth: clip(row.truth),
      })),
      ...methods.flatMap((method) => rows.map((row) => ({ ...row, method, panel: title(method, output) }))),
    ];
  });
}

const endings = { numeric: 'numbers', datetime: 'dates' };

// Numbers, dates and categories have separate charts, and so have targets that are classes. What matters most comes first.
function responsesByKind({ response = [], importance }) {
  const lists = {};
  const ranks = new Map((importance ?? []).map((row, rank) => [row.column, rank]).reverse());
  const rank = (row) => ranks.get(row.input) ?? ranks.size;
  for (const row of [...response].sort((a, b) => rank(a) - rank(b))) {
    const name = `${row.class === undefined ? 'response' : 'classes'}_${endings[row.kind ?? 'numeric'] ?? 'choices'}`;
    (lists[name] ??= []).push({ ...row, panel: row.target ? `${row.target} by ${row.input}` : row.input });
  }
  return lists;
}

// With several targets each has its own region or method.
function byTarget(rows, field) {
  return rows.map((row) => (row.target ? { ...row, [field]: [row.target, row[field]].filter(Boolean).join(', ') } : row));
}

// The networks of a mixture have the colour of their shape; those of one shape have one each.
function trainingLines(rows) {
  const several = unique(rows.map((row) => row.shape)).length > 1;
  return rows.map((row) => ({ ...row, who: several ? `shape ${row.shape}` : `member ${row.member}` }));
}

export function prepare(lists) {
  const prepared = { ...lists, ...responsesByKind(lists) };
  if (lists.band?.length) prepared.band_panels = bandPanels(lists);
  if (lists.importance) prepared.importance = lists.importance.map((row) => ({ ...row, panel: row.target ?? '' }));
  if (lists.training) prepared.training = trainingLines(lists.training);
  for (const [name, field] of [['predicted', 'region'], ['calibration', 'region'], ['pit', 'region'], ['weights', 'method']]) {
    if (lists[name]) prepared[name] = byTarget(lists[name], field);
  }
  return prepared;
}
