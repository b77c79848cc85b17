// Colours and type of the charts, in light and dark.

const light = { ink: '#1c1f24', faint: '#5c6370', grid: '#e4e6ea', paper: '#ffffff', shade: '#c9cdd4' };
const dark = { ink: '#e8eaee', faint: '#a3a9b5', grid: '#31353d', paper: '#15171b', shade: '#4a505b' };

// A method has the same colour in every chart. The hues are Okabe and Ito's and, beyond them, Tol's, which colour-blind
// readers can tell apart.
const methodColours = {
  direct: ['#0072b2', '#4aa8e0'],
  linear: ['#d55e00', '#f2853a'],
  mixture: ['#009e73', '#2fc79b'],
  default: ['#b5588e', '#dd8fbd'],
  exact: ['#1c1f24', '#e8eaee'],
  adam: ['#c98a00', '#f0b840'],
  adamw: ['#3f9fd6', '#8bd0f7'],
  ivon: ['#6a51a3', '#a893dc'],
  laplace: ['#7a5c3e', '#c2a283'],
  ep: ['#2a9286', '#5fc9bc'],
  ep_skip: ['#117733', '#58b877'],
  vmp: ['#882255', '#d5719f'],
  adf: ['#85852a', '#c9c95f'],
};
const otherColours = [
  ['#0072b2', '#4aa8e0'],
  ['#d55e00', '#f2853a'],
  ['#009e73', '#2fc79b'],
  ['#b5588e', '#dd8fbd'],
  ['#c98a00', '#f0b840'],
  ['#3f9fd6', '#8bd0f7'],
  ['#6a51a3', '#a893dc'],
  ['#7a5c3e', '#c2a283'],
];

// Colour scale for these methods, in the order of the list above, unknown ones last.
export function methodScale(methods, isDark) {
  const known = Object.keys(methodColours).filter((method) => methods.includes(method));
  const strangers = methods.filter((method) => !(method in methodColours));
  const taken = known.map((method) => methodColours[method][0]);
  const free = otherColours.filter(([colour]) => !taken.includes(colour));
  const pairs = [...known.map((method) => methodColours[method]), ...strangers.map((_, k) => free[k % free.length])];
  return { domain: [...known, ...strangers], range: pairs.map((pair) => pair[isDark ? 1 : 0]) };
}

const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const labelSize = 12;

// Of an axis with these labels, in pixels, without its title.
export function axisWidth(labels) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = `${labelSize}px ${font}`;
  return 10 + Math.max(0, ...labels.map((label) => context.measureText(label).width));
}

export function config(isDark, width) {
  const isNarrow = width < 560;
  const { ink, faint, grid, paper, shade } = isDark ? dark : light;
  const accent = methodColours.direct[isDark ? 1 : 0];
  return {
    background: null,
    customFormatTypes: true,
    font,
    padding: 2,
    view: { stroke: null },
    axis: {
      domainColor: shade, gridColor: grid, tickColor: shade, labelColor: faint, titleColor: ink,
      labelFontSize: labelSize, titleFontSize: 12.5, titleFontWeight: 'normal', titlePadding: 9, labelPadding: 5,
      tickSize: 4, labelOverlap: 'greedy', labelLimit: isNarrow ? 150 : 220,
    },
    header: { labelColor: ink, labelFontSize: 13, labelFontWeight: 600, labelPadding: 8, titleColor: ink, labelLimit: 320 },
    legend: {
      orient: 'top', labelColor: ink, titleColor: faint, labelFontSize: 12.5, titleFontSize: 12.5, titleFontWeight: 'normal',
      symbolStrokeWidth: 2, labelLimit: 260, columnPadding: 16, offset: 12, layout: { top: { anchor: 'start', direction: isNarrow ? 'vertical' : 'horizontal', margin: isNarrow ? 6 : 28 } },
      gradientLength: isNarrow ? 130 : 240, gradientThickness: 10, columns: Math.max(2, Math.floor(width / 150)), ...(isNarrow ? { columnPadding: 10 } : {}),
    },
    facet: { spacing: { row: 34, column: 26 } },
    range: { category: otherColours.map((pair) => pair[isDark ? 1 : 0]), heatmap: { scheme: 'viridis' } },
    line: { strokeWidth: 2 },
    point: { filled: true, size: 32, opacity: 1 },
    // Styles that a specification names by role, not by colour.
    style: {
      ink: { color: ink, stroke: ink, fill: ink },
      truth: { color: ink, stroke: ink, fill: null, strokeDash: [5, 4], strokeWidth: 1.6 },
      reference: { color: faint, stroke: faint, fill: null, strokeDash: [5, 4], strokeWidth: 1.4 },
      rows: { color: ink, fill: ink, stroke: null, fillOpacity: 0.42, size: 12 },
      shade: { color: shade, fill: shade, stroke: null, fillOpacity: 0.55 },
      note: { color: faint, fill: faint, fontSize: 12 },
      band: { color: accent, fill: accent, stroke: null },
      accent: { color: accent, fill: accent, stroke: accent },
      frame: { stroke: paper, strokeWidth: 1 },
    },
  };
}
