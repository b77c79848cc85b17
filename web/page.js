// The page: a summary, then a section per experiment; or one fit; or one factor graph.
import charts from 'charts';
import { Chart, namedData, seriesOf } from './chart.js';
import { diagram } from './diagram.js';
import { columnsNamed, definitions, details, element, prose, scalarColumns, table, valueText, words } from './elements.js';
import { prepare } from './prepare.js';
import { figures, graphCharts, order, report, sections } from './sections.js';

const longTable = 12;
const drawings = [];

const verdictSigns = { agrees: '✓', differs: '≠', beyond: '+' };

function verdictBadge({ verdict }) {
  return element('span', { class: `verdict ${verdict}` }, element('span', { 'aria-hidden': 'true' }, verdictSigns[verdict] ?? '·'), ` ${verdict}`);
}

const sectionOf = (name) => sections[name] ?? { title: words(name) };
const anchor = (name) => `section-${name}`;

const verdictColumns = [
  { title: 'Figure', value: (row) => row.figure },
  { title: 'Ours', value: (row) => row.ours },
  { title: 'Paper', value: (row) => row.paper },
  { title: 'Verdict', value: verdictBadge },
];

function summary(experiments) {
  const rows = experiments.flatMap(({ experiment, verdicts = [] }) => verdicts.map((row) => ({ ...row, experiment })));
  if (rows.length === 0) return null;
  const first = (row) => rows.find(({ experiment }) => experiment === row.experiment) === row;
  const link = (row) => element('a', { href: `#${anchor(row.experiment)}`, ...(first(row) ? {} : { class: 'again' }) }, sectionOf(row.experiment).title);
  const counts = Object.keys(verdictSigns).map((verdict) => [verdict, rows.filter((row) => row.verdict === verdict).length]);
  return element(
    'section',
    { id: 'summary', 'aria-labelledby': 'summary-title' },
    element('h2', { id: 'summary-title' }, 'Summary'),
    element('p', { class: 'counts' }, counts.filter(([, count]) => count > 0).flatMap(([verdict, count]) => [verdictBadge({ verdict }), ` ${count} `])),
    table([{ title: 'Experiment', value: link }, ...verdictColumns], rows, 'verdicts'),
    element('p', { class: 'small' }, 'Agrees: as in the paper. Differs: not as in the paper; the section says why. Beyond: the paper has no such figure.'),
  );
}

function verdictsOf(verdicts = []) {
  if (verdicts.length === 0) return null;
  const withWhy = verdicts.some(({ why }) => why) ? [{ title: 'Why', value: (row) => row.why }] : [];
  return table([...verdictColumns, ...withWhy], verdicts, 'verdicts');
}

const hasData = (spec, lists) => namedData(spec).every((name) => lists[name]?.length > 0);

function alternative(figure, spec, lists) {
  const series = seriesOf(spec, lists);
  return series.length > 1 ? `${figure.alternative} Series: ${series.join(', ')}.` : figure.alternative;
}

// `target`: what the charts predict, if it is one thing, and the scale it is shown on.
function chartFigure(name, lists, target = { name: 'value', scale: 'linear' }) {
  const figure = figures[name];
  const spec = charts[figure.chart ?? name];
  if (!hasData(spec, lists)) return null;
  const container = element('div', { class: 'chart', role: 'img', 'data-chart': name, 'aria-label': alternative(figure, spec, lists) });
  drawings.push(new Chart(container, spec, lists, target));
  return element('figure', {}, element('h3', {}, figure.title), container, element('figcaption', {}, figure.caption));
}

// The charts that the section names, then any standard chart that its lists can fill.
function chartsOf(section, lists) {
  const own = section.charts ?? [];
  const others = Object.keys(figures).filter((name) => figures[name].standard && !own.includes(name));
  return [...own, ...others].map((name) => chartFigure(name, lists));
}

const chartsNamed = (names, lists, target) => names.map((name) => chartFigure(name, lists, target));

function rowTable(title, columns, rows) {
  if (rows.length === 0 || columns.length === 0) return null;
  const content = table(columns, rows, 'rows');
  return rows.length > longTable
    ? details(`${title}: ${rows.length} rows`, content)
    : element('div', {}, element('h3', {}, title), content);
}

function tablesOf(section, rows = []) {
  const tables = section.tables ?? [{ title: 'Table' }];
  return tables.map(({ title, where = () => true, columns }) => {
    const chosen = rows.filter(where);
    const filled = (column) => chosen.some((row) => row[column] != null);
    return rowTable(title, columnsNamed((columns ?? scalarColumns(chosen)).filter(filled)), chosen);
  });
}

function certificate(lists) {
  if (!lists.certificate?.length) return null;
  return element('div', {}, element('h3', {}, 'Certificate'), table(columnsNamed(['name', 'value', 'about']), lists.certificate, 'certificate'));
}

function secondsText(seconds) {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;
}

function headlines(figuresOfSummary = {}) {
  const { remark, ...others } = figuresOfSummary;
  return Object.keys(others).length > 0 ? details('Headline figures', definitions(others)) : null;
}

function experimentSection(result) {
  const section = sectionOf(result.experiment);
  const lists = prepare({ rows: result.rows ?? [], ...result.figures });
  const title = `${anchor(result.experiment)}-title`;
  return element(
    'section',
    { id: anchor(result.experiment), 'aria-labelledby': title },
    element('h2', { id: title }, section.title),
    element('p', { class: 'origin' }, [section.paper, `dma reproduce ${result.experiment}`, result.seconds == null ? null : secondsText(result.seconds)].filter(Boolean).join(' · ')),
    element('p', { class: 'text' }, section.text ?? result.about ?? ''),
    verdictsOf(result.verdicts),
    chartsOf(section, lists),
    result.summary?.remark ? element('p', { class: 'text' }, prose(result.summary.remark)) : null,
    tablesOf(section, result.rows),
    certificate(lists),
    headlines(result.summary),
    details('How it was run', definitions(result.settings ?? {})),
  );
}

function contents(experiments) {
  const links = experiments.map(({ experiment }) => element('li', {}, element('a', { href: `#${anchor(experiment)}` }, sectionOf(experiment).title)));
  return element('nav', { 'aria-label': 'Sections' }, element('ul', {}, links));
}

function place({ experiment }) {
  const index = order.indexOf(experiment);
  return index < 0 ? order.length : index;
}

function reproduction({ version, experiments }) {
  const sorted = [...experiments].sort((a, b) => place(a) - place(b));
  document.title = 'Direct Message Approximation, measured';
  return [
    element(
      'header',
      {},
      element('h1', {}, 'Direct Message Approximation, measured'),
      element('p', { class: 'text' }, 'The paper’s claims, measured again: our figures next to the paper’s, and a section for each experiment. Point at a mark to see its values. Click a series in a legend to select it; double-click the legend to show all.'),
      element('p', { class: 'origin' }, `dma ${version}`),
    ),
    contents(sorted),
    summary(sorted),
    sorted.map(experimentSection),
  ];
}

function fit({ version, model, targets = [], target_scale: scale = 'linear', facts = [], figures: lists = {} }) {
  document.title = `${model} · dma`;
  const prepared = prepare(lists);
  const target = { name: targets.length === 1 ? targets[0] : 'value', scale };
  return [
    element('header', {}, element('h1', {}, model), element('p', { class: 'origin' }, `dma report · dma ${version}`)),
    element(
      'section',
      { id: 'fit', 'aria-label': 'The fit' },
      chartsNamed(report.first, prepared, target),
      element('h3', {}, 'The model'),
      factsOf(facts),
      chartsNamed(report.then, prepared, target),
      certificate(prepared),
    ),
  ];
}

function factsOf(facts) {
  return element('dl', { class: 'facts' }, facts.map(({ name, value }) => element('div', {}, element('dt', {}, words(name)), element('dd', {}, valueText(value)))));
}

function drawingOf(graph) {
  const types = table(columnsNamed(['factor', 'factors']), graph.types, 'rows');
  if (!graph.variables) {
    return element('div', {}, element('p', { class: 'text' }, 'The graph has too many variables and factors of its own to be drawn. What it is made of:'), types);
  }
  return element(
    'figure',
    {},
    element('div', { class: 'diagram' }, diagram(graph)),
    element('figcaption', {}, 'Rounded: a variable, or an array of them. Squares: factors. A box is a plate: what is inside is there so many times. Dashed: what had not converged, or is no distribution. Point at something to see its whole name.'),
    graph.factors.length > longTable ? details('Factors by type', types) : null,
  );
}

function graphPage({ version, model, about, facts, graph, variables, messages, moving, trouble, figures: lists }) {
  document.title = `${model} · dma`;
  const someTable = (title, rows) => (rows.length > 0 ? rowTable(title, columnsNamed(scalarColumns(rows)), rows) : null);
  return [
    element('header', {}, element('h1', {}, model), element('p', { class: 'origin' }, `dma infer · dma ${version}`), about ? element('p', { class: 'text' }, about) : null),
    element(
      'section',
      { id: 'graph', 'aria-label': 'The graph' },
      drawingOf(graph),
      factsOf(facts),
      someTable('What went wrong', trouble),
      someTable('What still moved', moving),
      chartsNamed(graphCharts, lists),
      someTable('Beliefs', variables),
      someTable('Messages', messages),
    ),
  ];
}

const darkScreen = matchMedia('(prefers-color-scheme: dark)');
const onPaper = matchMedia('print');
const isDark = () => darkScreen.matches && !onPaper.matches;
const nextFrame = () => new Promise((resolve) => setTimeout(resolve));

// Redraws the charts that are out of date, with a pause after each so that the page stays responsive.
let latest = 0;
async function drawAll() {
  const turn = ++latest;
  for (const drawing of drawings) {
    if (drawing.isCurrent(isDark())) continue;
    drawing.draw(isDark());
    await nextFrame();
    if (turn !== latest) return;
  }
  document.documentElement.dataset.drawn = isDark() ? 'dark' : 'light';
}

const paperWidth = 690;
const drawForPaper = () => drawings.forEach((drawing) => drawing.draw(false, paperWidth));

const results = JSON.parse(document.getElementById('results').textContent);
const pages = { report: fit, graph: graphPage, reproduction };
document.getElementById('page').replaceChildren(...pages[results.kind](results).flat().filter(Boolean));
drawAll();
darkScreen.addEventListener('change', drawAll);
addEventListener('resize', drawAll);
addEventListener('beforeprint', drawForPaper);
addEventListener('afterprint', drawAll);
