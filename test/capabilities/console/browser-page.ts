import type { Page } from 'playwright-core';
import { afterEach } from 'vitest';
import { launchChromium } from '../../clients/chromium.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const usual = { width: 1280, height: 720 };

/**
 * Opens Chromium with one page for the tests of a block: another page for each takes longer than most tests. After
 * each test nothing of it is left on the page but its origin's storage.
 */
export function browserPage(): Page {
  const browser = startBeforeAll(launchChromium);
  const page = startBeforeAll(() => browser.newPage({ viewport: usual }));
  afterEach(async () => {
    for (const event of ['console', 'pageerror', 'request']) page.removeAllListeners(event);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // Ends the stream of the view, and what it does without being asked.
    await page.goto('about:blank');
    await page.setViewportSize(usual);
    await page.emulateMedia({ colorScheme: null });
  });
  return page;
}
