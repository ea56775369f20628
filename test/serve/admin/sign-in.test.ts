import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasChromium, keepScreenshot, launchChromium } from '../../clients/chromium.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { startTestGateway } from '../../support/gateway.ts';

const TOKEN = 'Kx7-admin-token-of-the-tests';

let now = Date.parse('2026-01-01T00:00:00Z');
const yaml = 'routes: [{ name: open, path: /, public: true, upstream: { url: http://127.0.0.1:1 } }]\n';
const gateway = startBeforeAll(() =>
  startTestGateway({ yaml, admin: `{ listen: 127.0.0.1:0, token: "${TOKEN}" }`, clock: () => now }),
);
beforeEach(() => (now += 3_600_000));

test('there is no sign-in page without a configured token', async () => {
  const plain = await forThisTest(startTestGateway({ yaml }));
  expect((await fetch(`${plain.adminUrl}/sign-in`)).status).toBe(404);
});

test('off loopback, a program gets text and a browser the sign-in page', async () => {
  const asked = (accept: string) =>
    fetch(`${gateway.adminUrl}/`, { headers: { accept, 'x-forwarded-for': '192.0.2.1' } });
  const [program, person] = [await asked('*/*'), await asked('text/html,*/*;q=0.8')];
  expect([program.status, await program.text()]).toEqual([401, expect.stringContaining('sign in at /sign-in')]);
  expect([person.status, await person.text()]).toEqual([401, expect.stringContaining('<h1>Sallyport</h1>')]);
});

describe.skipIf(!hasChromium)('in a browser on another machine', () => {
  let url: string;
  let page: Page;
  const complaints: string[] = [];

  // A name of the listener that is not loopback, as in a network of containers.
  const browser = startBeforeAll(() => launchChromium('--host-resolver-rules=MAP gateway 127.0.0.1'));
  beforeAll(() => {
    url = `http://gateway:${new URL(gateway.adminUrl).port}`;
  });
  beforeEach(async () => {
    page = await (await browser.newContext()).newPage();
    complaints.length = 0;
    // A status is no complaint: the page is a 401, and so is the answer to a wrong token.
    page.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
  });

  async function signIn(token: string): Promise<void> {
    await page.getByLabel('Admin token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  const alert = async (text: string): Promise<void> => page.getByRole('alert').filter({ hasText: text }).waitFor();

  test('an operator signs in with the token and stays on the address that was asked for', async () => {
    await page.goto(`${url}/?route=open`);
    await signIn('wrong');
    await alert('The token is wrong.');
    await signIn('schlüssel');
    await alert('The token is wrong.');
    await signIn(TOKEN);
    await page.getByText('No kept decision').waitFor();
    expect(page.url()).toBe(`${url}/?route=open`);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: 'sallyport_admin', httpOnly: true, sameSite: 'Strict', path: '/' });
    await page.getByLabel('route').locator('option', { hasText: 'open' }).waitFor({ state: 'attached' });
    expect(complaints).toEqual([]);
  });

  test('the sign-in page leads to the console', async () => {
    await page.goto(`${url}/sign-in`);
    await signIn(TOKEN);
    await page.getByText('No decision yet').waitFor();
    expect(page.url()).toBe(`${url}/`);
    expect(complaints).toEqual([]);
  });

  test('the console asks to sign in again after the session has ended', async () => {
    await page.goto(url);
    await signIn(TOKEN);
    await page.getByText('No decision yet').waitFor();
    now += 8 * 3_600_000;
    await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Admin token').waitFor();
    expect(page.url()).toBe(`${url}/`);
  });

  test('after too many wrong tokens, the page shows how long to wait', async () => {
    await page.goto(url);
    for (let i = 0; i < 10; i += 1) await fetch(url.replace('gateway', '127.0.0.1'), bearer(`wrong-${i}`));
    await signIn(TOKEN);
    await alert('Too many wrong tokens');
    expect(await page.getByRole('alert').innerText()).toBe('Too many wrong tokens. Try again in 6 s.');
  });

  test.each([
    ['light', 1280],
    ['dark', 400],
  ] as const)('is legible, %s, %i pixels wide', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 600 });
    await page.goto(url);
    await signIn('wrong');
    await alert('The token is wrong.');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await keepScreenshot(page, `sign-in-${colorScheme}-${width}`);
  });
});

/** As a caller off loopback. */
function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.1' } };
}
