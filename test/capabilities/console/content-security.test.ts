import { beforeAll, describe, expect, test } from 'vitest';
import { hasChromium } from '../../clients/chromium.ts';
import { browserPage } from './browser-page.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll } from '../../support/start-before.ts';

/** Runs in each page, before its own scripts. */
const report = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  console.error('securitypolicyviolation', effectiveDirective, blockedURI));`;

describe.skipIf(!hasChromium)('the content security policy of the console', () => {
  const world = startBeforeAll(() =>
    startConsoleWorld({ admin: '{ listen: 127.0.0.1:0, token: 0123456789abcdef0123456789abcdef }' }),
  );
  const page = browserPage();
  beforeAll(async () => {
    await page.addInitScript(report);
    await world.calls();
  });

  /** What a reader does in each view. */
  const views: Readonly<Record<string, () => Promise<void>>> = {
    '/': async () => {
      await page.locator('.row', { hasText: 'bob' }).click();
      await page.getByRole('heading', { name: 'Record' }).waitFor();
      await page.locator('.plot').first().hover();
      await page.keyboard.press('?');
    },
    '/policies': () => page.getByText('5 ✓').waitFor(),
    '/policies?policy=demo-tools': async () => {
      const draft = page.getByLabel('Policy draft');
      await draft.focus();
      // Chromium itself would style what replaces text of another colour.
      await page.keyboard.press('Control+A');
      await page.keyboard.type('scope: read');
      await expect.poll(() => draft.locator('.cm-line').allTextContents()).toEqual(['scope: read']);
      await page.keyboard.press('Shift+Home');
      await page.keyboard.type('"');
      await expect.poll(() => draft.locator('.cm-line').allTextContents()).toEqual(['"scope: read"']);
      await page.keyboard.press('Control+Z');
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText('scope: read\nscpe: read\n');
      await page.locator('.cm-lint-marker-error').hover();
      await page.locator('.cm-tooltip').getByText('unknown key').waitFor();
      await page.keyboard.type('max');
      await page.getByRole('option', { name: 'max_lifetime' }).waitFor();
    },
    '/health': () => page.getByRole('heading', { name: 'Routes' }).waitFor(),
    '/sign-in': async () => {
      await page.getByLabel('Admin token').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('The token is wrong.').waitFor();
    },
  };

  test.each(Object.keys(views))('%s meets it, without unsafe sources', async (path) => {
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    const answer = await page.goto(world.adminUrl + path);
    expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");
    expect(answer?.headers()['content-security-policy']).not.toContain('unsafe');
    await views[path]?.();
    // Chromium reports the refused sign-in, which is no violation.
    expect(said.filter((line) => !line.includes('status of 401'))).toEqual([]);
  });
});
