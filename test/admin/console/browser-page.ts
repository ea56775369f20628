import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { launchChromium } from '../../clients/chromium.ts';

/** Opens Chromium for the tests of a block, and a page for each. @param use Gets the page before its test. */
export function browserPage(use: (page: Page) => void): void {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    const page = await browser.newPage();
    use(page);
    return () => page.close();
  });
}
