/** From the refusal in a client to the executed call: a person signs in and approves it on a page, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, keepScreenshot, launchChromium } from './chromium.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';

if (!hasChromium) process.stdout.write('skipped: approvals in a browser; there is no Chromium\n');

const policy = `
scope: read
tools:
  list_*: {}
  transfer_funds:
    because: Transfers above 1000 need a supervisor.
    approval: { when: { arguments: { /amount: { above: 1000 } } }, by: { claims: { role: supervisor } } }
`;

describe.skipIf(!hasChromium)('in Chromium', { timeout: 120_000 }, () => {
  let browser: Browser;
  let world: FrontDoorWorld;
  let token: string;
  beforeAll(async () => {
    browser = await launchChromium();
    world = await startFrontDoorWorld({ policy, top: 'approvals: { authorization_servers: [front_door] }' });
    world.provider.person = { sub: 'alice', claims: { email: 'alice@acme.com', roles: ['trader'] } };
    const client = await registerClient(world.issuer, { client_name: 'Agent' });
    const answer = await client.token({ parameters: { scope: 'read' } });
    token = String(answer.body['access_token']);
    world.provider.person = { sub: 'eve', claims: { email: 'eve@acme.com', roles: ['supervisor'] } };
  });
  afterAll(async () => {
    await Promise.all([browser.close(), world.close()]);
  });

  interface Called {
    readonly status: number;
    readonly body: {
      readonly error?: { readonly data: { readonly approval?: { readonly id: string; readonly url: string } } };
    };
  }
  const transfer = async (args: object): Promise<Called> => {
    const response = await fetch(world.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'transfer_funds', arguments: args },
      }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as Called['body']) : {} };
  };
  const urlOf = ({ body }: Called): string => body.error?.data.approval?.url ?? '';

  async function withPage(use: (page: Page) => Promise<void>, options: object = {}): Promise<void> {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(20_000);
    try {
      await use(await context.newPage());
    } finally {
      await context.close();
    }
  }

  test('R-327: a supervisor follows the link, signs in at the provider, and approves exactly this call', async () => {
    const args = { from: 'acc-1', to: 'acc-2', amount: 5000 };
    const refused = await transfer(args);
    expect(refused.status).toBe(403);
    await withPage(async (page) => {
      await page.goto(urlOf(refused));
      await page.getByRole('heading', { name: 'Approve this call?' }).waitFor();
      expect(page.url()).toMatch(new RegExp(`^${world.issuer}/approval/`));
      const text = await page.locator('main').innerText();
      for (const each of ['transfer_funds', '5000', 'acc-2', 'alice@acme.com', 'Agent', 'It chose its name itself.'])
        expect(text).toContain(each);
      expect(text).toContain('Transfers above 1000 need a supervisor.');
      await keepScreenshot(page, 'approval');
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('heading', { name: 'This call is approved' }).waitFor();
    });
    expect((await transfer({ ...args, amount: 5001 })).status).toBe(403);
    expect((await transfer(args)).status).not.toBe(403);
    expect((await transfer(args)).status).toBe(403);
  });

  test('R-328: the page shows what is odd about a call', async () => {
    const hostile = {
      from: 'acc-1',
      to: 'aсc-2',
      amount: 1_000_000,
      note: `pay \u202egnp.exe\u202c\u200b <script>alert(1)</script>\nsecond line`,
      long: 'x'.repeat(100_000),
      order: 'pay \u05d0 100 200',
      piled: `o${'\u0301'.repeat(40)}k\u2800`,
      deep: { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: 1 } } } } } } } } } },
      'ke\u200by': ['', [], {}, null, true, '0', 9.5],
      many: Array.from({ length: 300 }, (_, index) => index),
      last: 'also shown',
    };
    const refused = await transfer(hostile);
    for (const [name, options] of [
      ['wide-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
      ['wide-dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
      ['narrow-light', { viewport: { width: 400, height: 740 }, colorScheme: 'light' }],
      ['narrow-dark', { viewport: { width: 360, height: 740 }, colorScheme: 'dark' }],
    ] as const) {
      await withPage(async (page) => {
        await page.goto(urlOf(refused));
        await page.getByRole('heading', { name: 'Approve this call?' }).waitFor();
        const text = await page.locator('main').innerText();
        for (const code of ['U+202E', 'U+202C', 'U+200B', 'U+0441', '99,600 more characters'])
          expect(text).toContain(code);
        expect(text).toContain('<script>alert(1)</script>');
        expect(text).toContain('characters that are normally invisible');
        expect(text).toContain('letters that look like others');
        expect(text).toContain('of which not all are shown');
        expect(text).toContain('written from right to left');
        expect(text).toContain('1,000,000');
        expect(text).toContain('also shown');
        expect(text).toContain('U+2800');
        expect(text).not.toMatch(/[\u202a-\u202e\u200b]/);
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect(overflow).toBe(0);
        await keepScreenshot(page, `approval-${name}`);
        await page.getByText('note', { exact: true }).scrollIntoViewIfNeeded();
        await keepScreenshot(page, `approval-${name}-values`);
        await page.getByRole('button', { name: 'Deny' }).scrollIntoViewIfNeeded();
        await keepScreenshot(page, `approval-${name}-end`);
        const box = await page.getByRole('button', { name: 'Deny' }).boundingBox();
        expect(box?.height).toBeGreaterThan(40);
      }, options);
    }
  });

  test('R-329: neither another site nor another person decides', async () => {
    const refused = await transfer({ from: 'acc-1', to: 'acc-2', amount: 7000 });
    const id = urlOf(refused).split('/').at(-1) ?? '';
    await withPage(async (page) => {
      await page.goto(urlOf(refused));
      const form = { decision: 'approve', digest: await page.locator('input[name=digest]').inputValue() };
      const token = await page.locator('input[name=token]').inputValue();
      const post = async (fields: Record<string, string>, headers: Record<string, string> = {}): Promise<number> =>
        (await page.request.post(`${world.issuer}/approval/${id}`, { form: fields, headers })).status();
      expect(await post({ ...form, token }, { origin: 'https://evil.example' })).toBe(400);
      expect(await post({ ...form, token: 'guessed' })).toBe(400);
      const headers = (await page.request.get(`${world.issuer}/approval/${id}`)).headers();
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['x-frame-options']).toBe('DENY');
    });
    world.provider.person = { sub: 'mallory', claims: { email: 'mallory@acme.com', roles: ['trader'] } };
    await withPage(async (page) => {
      await page.goto(urlOf(refused));
      await page.getByRole('heading', { name: 'There is nothing to decide here' }).waitFor();
      expect(await page.locator('main').innerText()).toContain('mallory@acme.com');
    });
    world.provider.person = { sub: 'alice', claims: { email: 'alice@acme.com', roles: ['supervisor'] } };
    await withPage(async (page) => {
      await page.goto(urlOf(refused));
      await page.getByRole('heading', { name: 'This call is your own' }).waitFor();
      expect(await page.locator('main').innerText()).toContain('Another person has to decide on it.');
      expect(await page.locator('main').innerText()).not.toContain('7000');
      expect(await page.getByRole('button').count()).toBe(0);
      await keepScreenshot(page, 'approval-own');
    });
    expect((await transfer({ from: 'acc-1', to: 'acc-2', amount: 7000 })).status).toBe(403);
    world.provider.person = { sub: 'eve', claims: { email: 'eve@acme.com', roles: ['supervisor'] } };
  });
});
