// Elements of the page. Text from the results is only ever set as text.

export function element(tag, attributes = {}, ...children) {
  const result = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) result.setAttribute(name, value);
  result.append(...children.flat().filter((child) => child != null));
  return result;
}

const isList = Array.isArray;
const isObject = (value) => value !== null && typeof value === 'object' && !isList(value);
const isScalar = (value) => value === null || typeof value !== 'object';

// "incoming_width" as people would write it.
export const words = (name) => String(name).replaceAll('_', ' ');

const superscripts = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

const raised = (exponent) => [...String(exponent)].map((c) => superscripts[c]).join('');

// Powers of ten beyond a thousand or a thousandth, as such.
export function powerText(value) {
  const exponent = Math.round(Math.log10(value));
  const isPower = value > 0 && Math.abs(value / 10 ** exponent - 1) < 1e-9;
  return isPower && Math.abs(exponent) > 2 ? `10${raised(exponent)}` : numberText(value);
}

export function numberText(value) {
  if (Number.isInteger(value)) return value.toLocaleString('en', { useGrouping: Math.abs(value) >= 10000 }).replace('-', '−');
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) return String(Number(value.toPrecision(4))).replace('-', '−');
  const [digits, exponent] = value.toExponential(2).split('e');
  return `${Number(digits)} × 10${raised(Number(exponent))}`.replace('-', '−');
}

// Formulas in texts that were written for a terminal.
export function prose(text) {
  return text
    .replace(/(\d)e([+-]\d+)/g, (_, digit, exponent) => `${digit} × 10${raised(Number(exponent))}`)
    .replace(/(^|[\s(])-(?=\d)/g, '$1−')
    .replaceAll('^2', '²')
    .replaceAll('>=', '≥')
    .replaceAll('<=', '≤');
}

export function valueText(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isList(value)) return value.every(isScalar) ? value.map(valueText).join(', ') : `${value.length} entries`;
  if (isObject(value)) return Object.entries(value).map(([key, inner]) => `${words(key)} ${valueText(inner)}`).join(', ');
  return prose(String(value));
}

function cell(label, content) {
  const numeric = typeof content === 'number';
  const attributes = { 'data-label': label };
  if (numeric) attributes.class = 'number';
  if (content == null || content === '') attributes['data-empty'] = '';
  return element('td', attributes, content instanceof Node ? content : valueText(content === '' ? null : content));
}

// columns: [{title, value(row)}]. On a phone each row is a card, labelled by the titles.
export function table(columns, rows, className = '') {
  const numeric = columns.map(({ value }) => rows.every((row) => value(row) == null || typeof value(row) === 'number'));
  const head = columns.map(({ title }, k) => element('th', { scope: 'col', ...(numeric[k] ? { class: 'number' } : {}) }, title));
  const body = rows.map((row) => element('tr', {}, columns.map(({ title, value }) => cell(title, value(row)))));
  return element(
    'div',
    { class: `table ${className}` },
    element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, body)),
  );
}

// The keys that hold a scalar wherever they occur, in order of appearance.
export function scalarColumns(rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return keys.filter((key) => rows.every((row) => row[key] === undefined || isScalar(row[key])));
}

export const columnsNamed = (keys) => keys.map((key) => ({ title: words(key), value: (row) => row[key] }));

export function details(title, ...content) {
  return element('details', {}, element('summary', {}, title), ...content);
}

// An object as a definition list; objects inside it are lists inside the list.
export function definitions(object) {
  const entries = Object.entries(object).flatMap(([name, value]) => [
    element('dt', {}, words(name)),
    element('dd', {}, isObject(value) ? definitions(value) : valueText(value)),
  ]);
  return element('dl', {}, entries);
}
