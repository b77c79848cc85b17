// A headless Chromium that asks nobody for anything.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

// Playwright takes a new user data folder for each launch.
export function launch(modules, chromium) {
  const { chromium: browser } = createRequire(resolve(modules, 'package.json'))('playwright-core');
  return browser.launch({ executablePath: chromium, headless: true, args: flags });
}
