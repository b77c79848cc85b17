// node build.mjs MODULES OUTPUT: makes one page of the sources beside this file: OUTPUT/page_text.cc for
// web/page_text.h, and OUTPUT/page.html with RESULTS_HERE in place of the results. MODULES is the folder with npm's
// node_modules.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, output] = process.argv.slice(2).map((path) => resolve(path));
const source = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const { build } = createRequire(join(modules, 'package.json'))('esbuild');

const read = (name) => readFileSync(join(source, name), 'utf8');

function readCharts() {
  const files = readdirSync(join(source, 'charts')).filter((file) => file.endsWith('.json'));
  return Object.fromEntries(files.sort().map((file) => [file.slice(0, -5), JSON.parse(read(`charts/${file}`))]));
}

// import charts from 'charts': every specification by its name.
const charts = {
  name: 'charts',
  setup(build) {
    build.onResolve({ filter: /^charts$/ }, () => ({ path: 'charts', namespace: 'charts' }));
    build.onLoad({ filter: /.*/, namespace: 'charts' }, () => ({ contents: JSON.stringify(readCharts()), loader: 'json' }));
  },
};

async function bundle(name, options) {
  const result = await build({
    entryPoints: [join(source, name)],
    nodePaths: [join(modules, 'node_modules')],
    bundle: true,
    minify: true,
    write: false,
    legalComments: 'none',
    metafile: true,
    ...options,
  });
  return { text: result.outputFiles[0].text.trim(), files: Object.keys(result.metafile.inputs) };
}

// The licences of everything in the bundle, once each, so that they travel with the page.
function licencesOf(files) {
  const folders = new Set(files.map((file) => file.match(/.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]).filter(Boolean));
  const texts = new Map();
  for (const folder of [...folders].sort()) {
    const path = resolve(folder);
    const name = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).name;
    const licence = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
    if (!licence) throw new Error(`${name} has no licence file`);
    const text = readFileSync(join(path, licence), 'utf8').replaceAll('\r', '').trim();
    texts.set(text, [...(texts.get(text) ?? []), name]);
  }
  return [...texts].map(([text, names]) => `${names.join(', ')}:\n\n${text}\n`).join('\n').replaceAll('--', '- -');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

async function wholePage() {
  const { text: style } = await bundle('page.css', {});
  const { text, files } = await bundle('page.js', { format: 'iife', target: 'es2020', plugins: [charts] });
  // Inside an HTML page a script ends at the first "</script".
  const script = text.replaceAll('</script', '<\\/script');
  const page = read('page.html')
    .replace('SCRIPT_HASH', () => hash(script))
    .replace('/* STYLE */', () => style)
    .replace('/* SCRIPT */', () => script)
    .replace('LICENCES', () => licencesOf(files));
  return page;
}

// Pieces of less than 64 kB, the longest string that the standard promises to accept.
function asCpp(name, text) {
  const pieces = text.match(/[^]{1,15000}/g) ?? [];
  const literals = pieces.map((piece) => `    R"page(${piece})page"sv,\n`);
  return (
    `constexpr std::string_view ${name}_pieces[] = {\n${literals.join('')}};\n` +
    `std::span<const std::string_view> ${name}() { return ${name}_pieces; }\n`
  );
}

const page = await wholePage();
const parts = page.split('RESULTS_HERE');
if (parts.length !== 2) throw new Error(`page.html has RESULTS_HERE ${parts.length - 1} times, not once`);
if (parts.some((part) => part.includes(')page"') || part.includes('\r'))) throw new Error('not fit for a raw string');
writeFileSync(join(output, 'page.html'), page);
writeFileSync(
  join(output, 'page_text.cc'),
  `// Made by web/build.mjs.\n#include "page_text.h"\n\nnamespace dma::web {\n\nusing namespace std::literals;\n\n` +
    `${asCpp('page_before', parts[0])}\n${asCpp('page_after', parts[1])}\n}  // namespace dma::web\n`,
);
