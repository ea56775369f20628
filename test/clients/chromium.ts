import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** The first is the same browser without its window, which starts in half the time. */
const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const artifacts = fileURLToPath(new URL('../../test-artifacts/', import.meta.url));

/** Whether this machine has Chromium. */
export const hasChromium = executablePath !== undefined;
if (!hasChromium) process.stdout.write('skipped: tests in a browser; there is no Chromium\n');

/** Starts it with a temporary profile. @param more Arguments besides the usual ones. */
export function launchChromium(...more: readonly string[]): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath ?? '', args: [...quiet, ...more] });
}

/** Runs `use` with a page that shares nothing with other pages. */
export async function withPage(
  browser: Browser,
  use: (page: Page) => Promise<void>,
  options?: BrowserContextOptions,
): Promise<void> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(60_000);
  try {
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** Saves a screenshot of a page. Git ignores the folder. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${artifacts}${name}.png` });
}
