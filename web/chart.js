// Draws a specification of charts/ with the lists of its section.
import { expressionInterpreter } from 'vega-interpreter';
import { compile } from 'vega-lite';
import { View, Warn, expressionFunction, logger, parse } from 'vega';
import { element, numberText, powerText, valueText, words } from './elements.js';
import { axisWidth, config, methodScale } from './theme.js';

// "formatType": "power" or "plain" in a specification.
expressionFunction('power', powerText);
expressionFunction('plain', numberText);

const copy = (value) => JSON.parse(JSON.stringify(value));

// Calls visit(object) for every object inside a specification.
function walk(value, visit) {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value);
  Object.values(value).forEach((inner) => walk(inner, visit));
}

export function namedData(spec) {
  const names = new Set();
  walk(spec, (part) => part.data?.name && names.add(part.data.name));
  return [...names];
}

// "scale": "method" means the colours that the field's values have on the whole page.
function nameMethods(spec, lists, isDark) {
  walk(spec, (part) => {
    if (part.scale !== 'method') return;
    const rows = namedData(spec).flatMap((name) => lists[name] ?? []);
    const methods = [...new Set(rows.map((row) => row[part.field]).filter((method) => method != null))];
    part.scale = methodScale(methods, isDark);
  });
}

export function seriesOf(spec, lists) {
  const series = new Set();
  const rows = namedData(spec).flatMap((name) => lists[name] ?? []);
  walk(spec, (part) => part.scale === 'method' && rows.forEach((row) => row[part.field] != null && series.add(row[part.field])));
  return [...series];
}

// Targets have their own units.
function separateTargets(spec, lists) {
  const several = namedData(spec).some((name) => lists[name]?.some((row) => row.target != null));
  const x = spec.usermeta?.sameUnit ? { x: 'independent' } : {};
  if (several && spec.facet) spec.resolve = { scale: { ...spec.resolve?.scale, ...x, y: 'independent' } };
}

// 1, 2 and 5 of every decade between these, or, where there are many, the powers of ten.
function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const decades = Math.ceil(Math.log10(high)) - first;
  const steps = decades > 3 ? [1] : [1, 2, 5];
  const ticks = Array.from({ length: decades + 1 }, (_, k) => steps.map((step) => step * 10 ** (first + k))).flat();
  return ticks.filter((tick) => low <= tick && tick <= high);
}

function makeLogarithmic(part, rows) {
  const seen = rows.flatMap((row) => part.scale.fields.map((field) => row[field])).filter((value) => value > 0);
  part.scale = { type: 'log', nice: false };
  part.axis.values = logTicks(Math.min(...seen), Math.max(...seen));
}

// TARGET in a title is what is predicted; an axis of the scale "target", which shows these fields, has the one that suits it.
function nameTarget(spec, target, lists) {
  const rows = namedData(spec).flatMap((name) => lists[name] ?? []);
  walk(spec, (part) => {
    if (typeof part.title === 'string') part.title = part.title.replace('TARGET', target.name);
    if (part.scale?.type !== 'target') return;
    if (target.scale === 'log') return makeLogarithmic(part, rows);
    const { type, fields, ...others } = part.scale;
    part.scale = others;
  });
}

// The next round number beyond a field's values, as an axis writes it.
function widest(rows, field) {
  const size = Math.max(...rows.map((row) => Math.abs(row[field] ?? 0)));
  return numberText(size > 0 ? 10 ** Math.ceil(Math.log10(size)) / 2 : 0);
}

const titleWidth = 32;
const leastPanel = 180;
const gap = 26;
const strokes = 6;  // marks on the frame
const margin = 12;  // for the last label of an axis

// Vega-Lite fits a single view to its container, and panels not at all. Panels that share an axis show it
// once, on the left.
function fitPanels(spec, width, panels, lists) {
  if (!spec.facet || typeof spec.spec.width === 'object') return;
  const { axisWidth: most = 76, axisLabels, axisNumbers } = spec.usermeta ?? {};
  const rows = namedData(spec).flatMap((name) => lists[name] ?? []);
  let axis = most;
  if (axisLabels) axis = Math.min(most, axisWidth(rows.map((row) => String(row[axisLabels]))));
  if (axisNumbers) axis = Math.max(most, titleWidth + axisWidth(axisNumbers.map((field) => widest(rows, field))));
  const everyPanel = spec.resolve?.scale?.y === 'independent';
  const beside = gap + strokes + (everyPanel ? axis : 0);
  const room = width - margin - (everyPanel ? 0 : axis);
  const fitting = Math.max(1, Math.min(spec.columns, Math.floor((room + gap) / (leastPanel + beside))));
  const columns = Math.ceil(panels / Math.ceil(panels / fitting));
  spec.columns = columns;
  spec.spec.width = Math.floor((room + gap) / columns) - beside;
}

// The number of panels of a facet is known only after its transforms have run.
function countPanels(vega, spec) {
  if (!spec.facet) return 1;
  const view = new View(parse(vega, null, { ast: true }), { expr: expressionInterpreter, renderer: 'none', logLevel: Warn }).run();
  const cells = view.scenegraph().root.items[0].items.find((mark) => mark.name === 'cell');
  view.finalize();
  return Math.max(1, cells?.items.length ?? 1);
}

// Vega-Lite warns that a height given per row is not fitted to the container; only the width should be. It also warns
// that it may not know the width of panels with their own categories; fitPanels sets it.
const harmless = ['Dropping "fit-y"', 'Detected faceted independent scales'];
const compileLogger = logger(Warn);
const warn = compileLogger.warn;
compileLogger.warn = function (message, ...others) {
  return harmless.some((start) => String(message).startsWith(start)) ? this : warn.call(this, message, ...others);
};

function rounded(number) {
  return typeof number === 'number' ? valueText(number) : number;
}

function tooltipContent(value) {
  if (typeof value !== 'object') return String(value);
  return element(
    'dl',
    {},
    Object.entries(value).flatMap(([name, text]) => [element('dt', {}, words(name)), element('dd', {}, String(rounded(text)))]),
  );
}

const tooltip = element('div', { id: 'tooltip', role: 'status', hidden: '' });

function showTooltip(handler, event, item, value) {
  tooltip.hidden = value == null || value === '';
  if (tooltip.hidden) return;
  if (!tooltip.isConnected) document.body.append(tooltip);
  tooltip.replaceChildren(tooltipContent(value));
  const { width, height } = tooltip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 8);
  const above = event.clientY - height - 14;
  tooltip.style.left = `${Math.max(8, left)}px`;
  tooltip.style.top = `${above > 8 ? above : event.clientY + 18}px`;
}

export class Chart {
  constructor(container, spec, lists, target) {
    this.container = container;
    this.target = target;
    // Vega describes the element that it draws in; the container keeps the page's own words.
    this.drawing = element('div', { 'aria-hidden': 'true' });
    container.append(this.drawing);
    this.spec = spec;
    this.lists = lists;
  }

  // The size of the chart is that of its container, or the given width, e.g. of paper.
  draw(isDark, width) {
    this.container.style.width = width ? `${width}px` : '';
    const spec = copy(this.spec);
    nameMethods(spec, this.lists, isDark);
    separateTargets(spec, this.lists);
    nameTarget(spec, this.target, this.lists);
    this.panels ??= countPanels(this.compiled(copy(spec), isDark), spec);
    fitPanels(spec, this.container.clientWidth, this.panels, this.lists);
    const vega = this.compiled(spec, isDark);
    this.view?.finalize();
    this.view = new View(parse(vega, null, { ast: true }), {
      expr: expressionInterpreter,
      renderer: 'svg',
      container: this.drawing,
      hover: true,
      logLevel: Warn,
      tooltip: showTooltip,
    });
    this.view.run();
    this.drawnWidth = this.container.clientWidth;
    this.drawnDark = isDark;
    this.container.style.width = '';
  }

  compiled(spec, isDark) {
    const vega = compile(spec, { config: config(isDark, this.container.clientWidth), logger: compileLogger }).spec;
    for (const data of vega.data) {
      if (this.lists[data.name]) data.values = copy(this.lists[data.name]);
    }
    return vega;
  }

  isCurrent(isDark) {
    return this.view && this.drawnDark === isDark && Math.abs(this.drawnWidth - this.container.clientWidth) < 2;
  }
}
