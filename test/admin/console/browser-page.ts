import type { Page } from 'playwright-core';
import { beforeEach } from 'vitest';
import { launchChromium } from '../../clients/chromium.ts';
import { startBeforeAll } from '../../support/start-before.ts';

/** Opens Chromium for the tests of a block, and a page for each. @param use Gets the page before its test. */
export function browserPage(use: (page: Page) => void): void {
  const browser = startBeforeAll(launchChromium);
  beforeEach(async () => {
    const page = await browser.newPage();
    use(page);
    return () => page.close();
  });
}
