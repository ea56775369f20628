/** From the refusal in a client to the executed call: a person signs in and approves it on a page, in a real browser. */
import { once } from 'node:events';
import { request } from 'node:http';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postCall } from '../support/mcp-message.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { hasChromium, keepScreenshot, launchChromium, withPage } from './chromium.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';

const policy = `
scope: read
tools:
  list_*: {}
  transfer_funds:
    because: Transfers above 1000 need a supervisor.
    approval: { when: { arguments: { /amount: { above: 1000 } } }, by: { claims: { role: supervisor } } }
`;

describe.skipIf(!hasChromium)('in Chromium', () => {
  let token: string;
  const browser = startBeforeAll(launchChromium);
  const world = startBeforeAll(() =>
    startFrontDoorWorld({ policy, top: 'approvals: { authorization_servers: [front_door] }' }),
  );
  beforeAll(async () => {
    world.provider.person = {
      sub: 'alice',
      claims: { email_verified: true, email: 'alice@acme.com', roles: ['trader'] },
    };
    const client = await registerClient(world.issuer, { client_name: 'Agent' });
    token = String((await client.token()).body['access_token']);
  });
  beforeEach(() => {
    world.provider.person = {
      sub: 'eve',
      claims: { email_verified: true, email: 'eve@acme.com', roles: ['supervisor'] },
    };
  });

  interface Called {
    readonly status: number;
    readonly body: {
      readonly error?: { readonly data: { readonly approval?: { readonly id: string; readonly url: string } } };
    };
  }
  const transfer = async (args: object): Promise<Called> => {
    const response = await postCall(world.mcpUrl, 'transfer_funds', args, { token });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as Called['body']) : {} };
  };
  const urlOf = ({ body }: Called): string => body.error?.data.approval?.url ?? '';

  test('R-327: a supervisor follows the link, signs in at the provider, and approves exactly this call', async () => {
    const args = { from: 'acc-1', to: 'acc-2', amount: 5000 };
    const refused = await transfer(args);
    expect(refused.status).toBe(403);
    await withPage(browser, async (page) => {
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
      long: `${'x'.repeat(20_000)} the end of the text`,
      order: 'pay \u05d0 100 200',
      piled: `o${'\u0301'.repeat(40)}k\u2800`,
      deep: { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: 'the deepest' } } } } } } } } } },
      'ke\u200by': ['', [], {}, null, true, '0', 9.5],
      many: Array.from({ length: 300 }, (_, index) => `no. ${index}`),
      last: 'also shown',
    };
    const odd = ['U+202E', 'U+202C', 'U+200B', 'U+0441', 'U+2800', '19,620 more characters', '1,000,000'].concat(
      ['<script>alert(1)</script>', 'characters that are normally invisible', 'letters that look like others'],
      ['of which some are folded', 'written from right to left', 'also shown'],
    );
    const refused = await transfer(hostile);
    for (const [name, options] of [
      ['wide-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
      ['narrow-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
    ] as const) {
      await withPage(
        browser,
        async (page) => {
          await page.goto(urlOf(refused));
          await page.getByRole('heading', { name: 'Approve this call?' }).waitFor();
          const text = await page.locator('main').innerText();
          for (const each of odd) expect(text).toContain(each);
          expect(text).not.toMatch(/[\u202a-\u202e\u200b]/);
          const overflow = await page.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          );
          expect(overflow).toBe(0);
          await keepScreenshot(page, `approval-${name}`);
          const folded = ['the end of the text', 'the deepest', 'no. 299'];
          for (const each of folded) expect(text).not.toContain(each);
          for (const summary of await page.locator('summary').all()) {
            await summary.focus();
            await page.keyboard.press('Enter');
          }
          const whole = await page.locator('main').innerText();
          for (const each of folded) expect(whole).toContain(each);
          expect(whole).not.toMatch(/[\u202a-\u202e\u200b]/);
          await keepScreenshot(page, `approval-unfolded-${name}`);
          const box = await page.getByRole('button', { name: 'Deny' }).boundingBox();
          expect(box?.height).toBeGreaterThan(40);
        },
        options,
      );
    }
  });

  test('R-355: a person finds what waits for a decision, by names, and nothing else', async () => {
    const refused = await transfer({ from: 'acc-1', to: 'acc-2', amount: 9000 });
    for (const [name, options] of [
      ['wide-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
      ['narrow-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
    ] as const) {
      await withPage(
        browser,
        async (page) => {
          await page.goto(`${new URL(world.mcpUrl).origin}/approvals`);
          await page.getByRole('heading', { name: 'Calls that wait for you' }).waitFor();
          expect(page.url()).toBe(`${world.issuer}/approvals`);
          const text = await page.locator('main').innerText();
          for (const each of ['transfer_funds', 'alice@acme.com', 'eve@acme.com']) expect(text).toContain(each);
          expect(text).not.toContain('9000');
          const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
          expect(await page.evaluate(wide)).toBe(0);
          await keepScreenshot(page, `approvals-${name}`);
          await page.locator(`a[href="${urlOf(refused).replace(/.*\//, `${world.issuer}/approval/`)}"]`).click();
          await page.getByRole('heading', { name: 'Approve this call?' }).waitFor();
          expect(await page.evaluate(wide)).toBe(0);
          await page.getByRole('link', { name: 'All calls that wait for you' }).click();
          await page.getByRole('heading', { name: 'Calls that wait for you' }).waitFor();
        },
        options,
      );
    }
    for (const [sub, roles] of [
      ['mallory', ['trader']],
      ['alice', ['supervisor']],
    ] as const) {
      world.provider.person = { sub, claims: { email_verified: true, email: `${sub}@acme.com`, roles: [...roles] } };
      await withPage(browser, async (page) => {
        await page.goto(`${world.issuer}/approvals`);
        await page.getByText('No call waits for your decision.').waitFor();
      });
    }
  });

  test('R-329: neither another site nor another person decides', async () => {
    const refused = await transfer({ from: 'acc-1', to: 'acc-2', amount: 7000 });
    const id = urlOf(refused).split('/').at(-1) ?? '';
    await withPage(browser, async (page) => {
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
    world.provider.person = {
      sub: 'mallory',
      claims: { email_verified: true, email: 'mallory@acme.com', roles: ['trader'] },
    };
    await withPage(browser, async (page) => {
      await page.goto(urlOf(refused));
      await page.getByRole('heading', { name: 'There is nothing to decide here' }).waitFor();
      expect(await page.locator('main').innerText()).toContain('mallory@acme.com');
    });
    world.provider.person = {
      sub: 'alice',
      claims: { email_verified: true, email: 'alice@acme.com', roles: ['supervisor'] },
    };
    await withPage(browser, async (page) => {
      await page.goto(urlOf(refused));
      await page.getByRole('heading', { name: 'This call is your own' }).waitFor();
      expect(await page.locator('main').innerText()).toContain('Another person has to decide on it.');
      expect(await page.locator('main').innerText()).not.toContain('7000');
      expect(await page.getByRole('button').count()).toBe(0);
      await keepScreenshot(page, 'approval-own');
    });
    expect((await transfer({ from: 'acc-1', to: 'acc-2', amount: 7000 })).status).toBe(403);
  });

  test('R-329: a decision counts only if its person is signed in when its last byte arrives', async () => {
    const args = { from: 'acc-1', to: 'acc-2', amount: 7500 };
    const refused = await transfer(args);
    await withPage(browser, async (page) => {
      await page.goto(urlOf(refused));
      const [digest = '', token = ''] = await Promise.all(
        ['digest', 'token'].map(async (name) => page.locator(`input[name=${name}]`).inputValue()),
      );
      const form = new URLSearchParams({ decision: 'approve', digest, token }).toString();
      const cookies = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
      const parked = request(page.url(), {
        method: 'POST',
        headers: {
          cookie: cookies,
          origin: world.issuer,
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': form.length,
          expect: '100-continue',
        },
      });
      parked.write(form.slice(0, -1));
      await once(parked, 'continue');
      await page.getByRole('link', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
      parked.end(form.slice(-1));
      const [answer] = (await once(parked, 'response')) as [{ statusCode: number; resume(): void }];
      answer.resume();
      expect(answer.statusCode).toBe(400);
    });
    expect((await transfer(args)).status).toBe(403);
  });
});
