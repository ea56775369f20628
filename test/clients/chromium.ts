import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium, type Browser, type Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
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

/** Whether this machine has it. */
export const hasChromium = existsSync(executablePath);

/** Starts it with a profile of its own, which ends with it. @param more Arguments besides the usual ones. */
export function launchChromium(...more: readonly string[]): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...quiet, ...more] });
}

/** Keeps what a page looks like, for whoever wants to see; Git does not. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${artifacts}${name}.png` });
}
