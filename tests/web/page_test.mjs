// node page_test.mjs MODULES CHROMIUM TEMPLATE [PAGE…]: opens the template filled with the fixture, and every
// other page, in a headless Chromium and checks what a reader relies on. Every chart in web/charts has to be
// drawn in one of them. Exit status 1 if anything is amiss.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';
import { amountReport, classReport, factorGraph, largeFactorGraph, report, reproduction } from './fixture.mjs';

const [modules, chromium, template, ...pages] = process.argv.slice(2);
const drawn = new Set();
const scratch = mkdtempSync(join(tmpdir(), 'dma-page-'));

function filled(name, results) {
  const path = join(scratch, name);
  const json = JSON.stringify(results).replaceAll('<', '\\u003c');
  writeFileSync(path, readFileSync(template, 'utf8').replace('RESULTS_HERE', () => json));
  return path;
}

// Opens a page, hands it to the checks, and then asserts that it asked for nothing and complained of nothing.
async function visit(browser, path, options, checks) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(resolve(path)).href;
  const complaints = [];
  const requests = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => request.url().split('#')[0] !== address && requests.push(request.url()));
  await page.goto(address);
  const theme = options.colorScheme ?? 'light';
  await page.waitForFunction((drawn) => document.documentElement.dataset.drawn === drawn, theme, { timeout: 60000 }).catch(() => {});
  assert.deepEqual(complaints, [], `${path}: console`);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.drawn), theme, `${path}: all charts drawn`);
  await checks(page);
  assert.deepEqual(complaints, [], `${path}: console after use`);
  assert.deepEqual(requests, [], `${path}: requests`);
  await context.close();
}

// Per chart: marks that can be seen, its text alternative, its width beside its container's.
const charts = (page) =>
  page.$$eval('.chart', (containers) =>
    containers.map((container) => {
      const shapes = container.querySelectorAll('.mark-group.role-frame [class*="role-mark"] :is(path, line, rect, text)');
      const seen = [...shapes].filter((shape) => shape.getAttribute('opacity') !== '0' && !/background|foreground/.test(shape.getAttribute('class') ?? ''));
      return {
        name: `${container.closest('section').id} ${container.dataset.chart}`,
        chart: container.dataset.chart,
        marks: seen.length,
        alternative: container.getAttribute('aria-label') ?? '',
        overflow: container.scrollWidth - container.clientWidth,
        wrong: container.innerHTML.includes('NaN') || container.innerHTML.includes('Infinity'),
      };
    }),
  );

async function checkCharts(page, least) {
  const found = await charts(page);
  assert.ok(found.length >= least, `${found.length} charts, at least ${least} expected`);
  for (const chart of found) {
    assert.ok(chart.marks > 0, `${chart.name}: no mark is drawn`);
    assert.ok(!chart.wrong, `${chart.name}: a coordinate is not a number`);
    assert.ok(chart.alternative.length > 30, `${chart.name}: no text alternative`);
    if (!chart.name.endsWith('weights')) assert.ok(chart.overflow <= 1, `${chart.name}: ${chart.overflow} px too wide`);
  }
  found.forEach(({ chart }) => drawn.add(chart));
  return found.length;
}

async function checkWidth(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `the page is ${content} px wide in a window of ${window}`);
}

// Panels below each other use the width that there is.
async function checkNarrow(page) {
  const widths = await page.$$eval('.chart[data-chart="importance"]', (containers) =>
    containers.map((container) => container.querySelector('svg').clientWidth / container.clientWidth));
  for (const width of widths) assert.ok(width > 0.9, `importance: ${Math.round(100 * width)} % of the width is used`);
}

// A legend of series, unlike one of a colour gradient, has symbols: a click on its first entry changes the chart.
async function checkLegends(page) {
  const legends = page.locator('.chart:has(.role-legend-symbol)');
  const count = await legends.count();
  for (let k = 0; k < count; ++k) {
    const chart = legends.nth(k);
    const before = await chart.innerHTML();
    await chart.locator('.role-legend-label text').first().click({ force: true });
    assert.notEqual(await chart.innerHTML(), before, `${await chart.getAttribute('data-chart')}: the legend changes nothing`);
  }
  return count;
}

async function checkTooltip(page) {
  const chart = page.locator('.chart').first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  for (let step = 0; step < 400; ++step) {
    await page.mouse.move(box.x + 60 + 9 * (step % 20), box.y + 20 + 11 * Math.floor(step / 20));
    if (await page.locator('#tooltip dd').count()) return;
  }
  assert.fail('no tooltip over the first chart');
}

const background = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

// What a reader of a fit looks for comes first, in the target's name, and years are not written with a comma.
async function checkReport(browser, path, first, texts) {
  await visit(browser, path, {}, async (page) => {
    const names = await page.$$eval('.chart', (containers) => containers.map((container) => container.dataset.chart));
    assert.deepEqual(names.slice(0, first.length), first, 'the first charts');
    for (const [chart, text] of texts) {
      const drawn = await page.$eval(`[data-chart="${chart}"]`, (container) => container.textContent);
      assert.ok(drawn.includes(text), `${chart}: '${text}' is not written there`);
    }
    const numbers = await page.$$eval('.chart text', (all) => all.map((one) => one.textContent));
    assert.deepEqual(numbers.filter((number) => /^[12],\d{3}/.test(number)), [], 'thousands with a comma');
    const cut = await page.$$eval('.certificate', (tables) => tables.filter((table) => table.scrollWidth > table.clientWidth).length);
    assert.equal(cut, 0, 'a certificate is cut off');
  });
}

async function checkPage(browser, path, least) {
  let count = 0;
  let light;
  await visit(browser, path, {}, async (page) => {
    count = await checkCharts(page, least);
    await checkWidth(page);
    light = await background(page);
    const legends = await checkLegends(page);
    if (least > 3) assert.ok(legends > 0, 'no legend can be clicked');
    if (count > 0) await checkTooltip(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(() => document.documentElement.dataset.drawn === 'dark');
    assert.notEqual(await background(page), light, 'dark looks like light');
    await checkCharts(page, count);
  });
  await visit(browser, path, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'dark' }, async (page) => {
    await checkCharts(page, count);
    await checkWidth(page);
    await checkNarrow(page);
  });
  console.log(`${path}: ${count} charts`);
}

// Everything of the graph is drawn, in its own box, and nothing stands on something else.
async function checkGraph(browser, path) {
  await visit(browser, path, {}, async (page) => {
    const { graph } = factorGraph();
    const titles = await page.$$eval('.diagram title', (all) => all.map((title) => title.textContent));
    for (const { name } of [...graph.variables, ...graph.factors]) {
      assert.ok(titles.some((title) => title.startsWith(name)), `${name} is not drawn`);
    }
    const boxes = (selector) => page.$$eval(selector, (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    const plates = await boxes('.diagram .plate rect');
    const nodes = await boxes('.diagram :is(.variable, .factor) rect');
    const lines = await boxes('.diagram line');
    assert.equal(plates.length, 2, 'plates');
    assert.equal(lines.length, graph.factors.flatMap(({ edges }) => edges).length, 'edges');
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
    assert.ok(!meet(plates[0], plates[1]), 'plates overlap');
    nodes.forEach((a, k) => nodes.slice(0, k).forEach((b) => assert.ok(!meet(a, b), 'variables or factors overlap')));
    const members = plates.map((plate) => nodes.filter((node) => inside(node, plate)).length);
    assert.deepEqual(members, [3, 2], 'members of match and team');
    const touching = plates.map((plate) => nodes.filter((node) => meet(node, plate)).length);
    assert.deepEqual(touching, members, 'something stands on the border of a plate');
  });
}

const browser = await launch(modules, chromium);
try {
  await checkPage(browser, filled('reproduction.html', reproduction()), 26);
  await checkPage(browser, filled('report.html', report()), 4);
  await checkPage(browser, filled('amounts.html', amountReport()), 4);
  await checkPage(browser, filled('classes.html', classReport()), 6);
  await checkPage(browser, filled('graph.html', factorGraph()), 2);
  await checkGraph(browser, join(scratch, 'graph.html'));
  await checkPage(browser, filled('large.html', largeFactorGraph()), 2);
  await checkReport(browser, join(scratch, 'report.html'), ['predicted', 'importance'], [
    ['predicted', 'predicted price'], ['predicted', 'actual price'], ['response-numbers', 'price'], ['response-numbers', '2020'],
  ]);
  await checkReport(browser, join(scratch, 'classes.html'), ['confusion', 'importance'], [['confusion', 'actual comes']]);
  for (const path of pages) await checkPage(browser, path, 1);
  const charts = readdirSync(new URL('../../web/charts', import.meta.url)).map((file) => file.replace('.json', ''));
  if (pages.length > 0) assert.deepEqual(charts.filter((chart) => !drawn.has(chart)), [], 'charts that no page has drawn');
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}
