import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Past, Status } from '../../../src/capabilities/console/messages.ts';
import { hasChromium } from '../../clients/chromium.ts';
import { findings } from './accessibility.ts';
import { browserPage } from './browser-page.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const alice = { sub: 'alice', client_id: 'claude', scope: 'read payments', role: 'trader' };
const markup = '<img src=x onerror="document.title=1">';

const world = startBeforeAll(startConsoleWorld);

describe('the listener', () => {
  test('shows the configuration in force', async () => {
    const status = await world.read<Status>('/console.json');
    expect(status.routes[0]).toMatchObject({
      name: 'demo-tools',
      url: 'https://gateway.bank.example/mcp',
      policy: 'demo-tools',
      isPublic: false,
    });
    expect(status.servers).toMatchObject([{ name: 'main', issuer: world.issuer.url }]);
    expect(status).toMatchObject({ workers: 1, openStreams: 0, problems: [] });
  });

  test('R-245: keeps decisions without arguments and tokens', async () => {
    await world.call({ ...alice, sub: 'dora' }, 'transfer_funds', { amount: 471147114711.5 });
    const past = await world.read<Past>('/console/past?subject=DOR&reason=argument');
    expect(past).toMatchObject({
      selected: 1,
      rows: [{ subject: 'dora', clientId: 'claude', called: 'transfer_funds' }],
    });
    expect(JSON.stringify(past)).not.toMatch(/471147114711|eyJ/);
  });

  test('selects kept decisions by every member of a filter', async () => {
    await world.calls();
    const of = async (query: string) =>
      (await world.read<Past>(`/console/past?${query}`)).rows.map(({ called }) => called);
    expect(new Set(await of('outcome=challenged&subject=bob'))).toEqual(new Set(['transfer_funds']));
    const denied = (await world.read<Past>('/console/past?outcome=denied')).rows.map(({ kind }) => kind);
    expect(new Set(denied)).toEqual(new Set(['challenged', 'refused']));
    expect(new Set(await of('reason=token'))).toEqual(new Set(['POST']));
    expect(await of('route=demo-tools&client=vscode&tool=delete')).toContain('delete_everything');
    expect(await of('route=elsewhere')).toEqual([]);
  });
});

describe.skipIf(!hasChromium)('Live in a browser', () => {
  const complaints: string[] = [];
  const page = browserPage();
  beforeEach(() => {
    complaints.length = 0;
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  afterEach(() => {
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  });
  const panel = () => page.getByRole('complementary', { name: 'Decision' });
  const rows = (text: string) => page.locator('.row', { hasText: text });

  test('shows the past, and new decisions as they are made', async () => {
    await world.call({ ...alice, sub: 'erin' }, 'get_balance');
    await page.goto(world.adminUrl);
    await rows('erin').first().waitFor();
    await world.call({ ...alice, sub: 'frank' }, 'close_account');
    await rows('frank').waitFor();
    expect(await rows('frank').innerText()).toMatch(/claim role: wanted .*, found "trader"/);
  });

  test.each([
    [{ sub: 'report', client_id: 'report' }, 'report for itself', 'the client report for itself'],
    [{ sub: 'opaque-1', client_id: 'workload:github' }, 'workload:github · opaque-1', 'a workload of github, opaque-1'],
    [{ sub: 'carol', client_id: 'claude' }, 'carol · claude', 'carol by claude'],
  ])('says which kind of caller %j is', async (caller, inRow, words) => {
    await world.call({ ...alice, ...caller }, 'get_balance');
    await page.goto(world.adminUrl);
    expect(await rows(caller.sub).first().innerText()).toContain(inRow);
    await rows(caller.sub).first().click();
    await panel().getByText(words).first().waitFor();
    expect(await panel().innerText()).toContain(words);
  });

  test('shows the text of a caller, never as markup', async () => {
    await world.call(alice, markup);
    await page.goto(world.adminUrl);
    await rows(markup).first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Live · Sallyport');
  });

  test('a row opens by a click, shows each cell whole by its tooltip, and lets its text be selected', async () => {
    await world.call({ ...alice, sub: 'gwen', client_id: 'a-client-with-a-name-that-no-column-has-room-for' }, 'pay');
    await page.goto(world.adminUrl);
    const caller = rows('gwen').locator('.caller');
    await caller.waitFor();
    const box = (await caller.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const tooltip = await page.evaluate(
      `document.elementFromPoint(${box.x + box.width / 2}, ${box.y + box.height / 2}).closest('[title]')?.title`,
    );
    expect(tooltip).toMatch(/^gwen · a-client-with-a-name-that-no-column-has-room-for · \S+$/);
    await page.mouse.move(box.x + 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    expect(await page.evaluate('getSelection().toString()')).toContain('gwen');
    expect(new URL(page.url()).search).toBe('');
    await page.evaluate('getSelection().removeAllRanges()');
    await rows('gwen').locator('.route').click();
    await page.getByRole('heading', { name: 'Record' }).waitFor();
  });

  test('keeps its filters in the address', async () => {
    await world.calls();
    await page.goto(`${world.adminUrl}/?outcome=challenged`);
    await rows('bob').first().waitFor();
    expect(await page.getByLabel('outcome').inputValue()).toBe('challenged');
    await page.getByLabel('subject').fill('carol');
    await page.getByText('No kept decision has all of this').waitFor();
    expect(new URL(page.url()).search).toBe('?outcome=challenged&subject=carol');
    await page.getByRole('button', { name: 'Clear' }).click();
    await rows('alice').first().waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  test('keeps what is typed into a filter while the address follows', async () => {
    await page.goto(world.adminUrl);
    const subject = page.getByLabel('subject');
    await subject.pressSequentially('Ann ');
    await page.waitForURL('**/?subject=Ann');
    await page.getByText('No kept decision has all of this').waitFor();
    await subject.pressSequentially('Lee');
    await page.waitForURL('**/?subject=Ann+Lee');
    expect(await subject.inputValue()).toBe('Ann Lee');
  });

  /** Answers the stream of decisions with these events, one text for each connection. */
  async function streamOf(...texts: readonly (() => string | Promise<string>)[]): Promise<void> {
    const left = [...texts];
    await page.route('**/console/decisions', async (route) => {
      const body = await left.shift()?.();
      if (body !== undefined) await route.fulfill({ contentType: 'text/event-stream', body });
    });
  }

  test('shows a decision once that is both in the past and in the stream', async () => {
    await world.call({ ...alice, sub: 'olga' }, 'get_balance');
    await streamOf(
      () => 'retry: 10\n\n',
      async () => {
        await rows('olga').waitFor();
        const [olga] = (await world.read<Past>('/console/past?subject=olga')).rows;
        const batch = { rows: [{ ...olga, id: 'another', subject: 'peter' }, olga], leftOut: 0 };
        return `event: decisions\ndata: ${JSON.stringify(batch)}\n\n`;
      },
    );
    await page.goto(`${world.adminUrl}/?tool=get_balance`);
    await rows('peter').waitFor();
    expect(await rows('olga').count()).toBe(1);
  });

  test('loads decisions from the past that it read too slowly to get', async () => {
    let loaded = 0;
    page.on('request', (request) => {
      if (request.url().includes('/console/past')) loaded += 1;
    });
    await streamOf(() => 'event: lost\ndata: 3\n\n');
    await page.goto(world.adminUrl);
    await expect.poll(() => loaded).toBe(2);
  });

  test('shows the past while the listener refuses the stream, and new decisions when it no longer does', async () => {
    await world.call({ ...alice, sub: 'quinn' }, 'get_balance');
    const refuse = Promise.withResolvers<void>();
    await page.route('**/console/decisions', async (route) => {
      await route.fulfill({ status: 503, body: 'Too many pages watch.' });
      refuse.resolve();
    });
    await page.goto(world.adminUrl);
    await refuse.promise;
    await rows('quinn').waitFor();
    await page.getByText('New decisions do not arrive').waitFor();
    await page.unroute('**/console/decisions');
    await page.getByText('New decisions do not arrive').waitFor({ state: 'detached' });
    await world.call({ ...alice, sub: 'rupert' }, 'get_balance');
    await rows('rupert').waitFor();
    expect(await rows('quinn').count()).toBe(1);
    // Chromium reports the refusals.
    complaints.length = 0;
  });

  test('says that decisions are left out only as long as they are', async () => {
    const row = { id: 'one', at: Date.now(), kind: 'allowed', called: 'get_balance', subject: 'sybil' };
    await streamOf(() => `event: decisions\ndata: ${JSON.stringify({ rows: [row], leftOut: 900 })}\n\n`);
    await page.goto(world.adminUrl);
    // Meanwhile rows arrive without motion.
    const still = page.locator('.busy .row', { hasText: 'sybil' });
    await Promise.all([page.getByText('900/s left out').waitFor(), still.waitFor()]);
    await page.getByText('900/s left out').waitFor({ state: 'detached' });
    expect(await rows('sybil').count()).toBe(1);
  });

  test('begins with the past where a filter changes while it is paused', async () => {
    await world.calls();
    await page.goto(world.adminUrl);
    await rows('alice').first().waitFor();
    await page.keyboard.press('p');
    await page.getByLabel('subject').fill('bob');
    await rows('alice').first().waitFor({ state: 'detached' });
    await rows('bob').first().waitFor();
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(1);
  });

  test('pauses and resumes', async () => {
    await world.call(alice, 'get_balance');
    await page.goto(world.adminUrl);
    await rows('alice').first().waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await world.call({ ...alice, sub: 'grace' }, 'get_balance');
    await page.getByText('1 new').waitFor();
    expect(await rows('grace').count()).toBe(0);
    await page.keyboard.press('p');
    await rows('grace').waitFor();
  });

  test('explains why the last call of alice was refused, and what would have let it pass', async () => {
    await world.call({ ...alice, scope: 'read' }, 'transfer_funds', { amount: 10 });
    await page.goto(`${world.adminUrl}/?subject=alice`);
    await rows('transfer_funds').first().click();
    await panel().getByRole('heading', { name: 'Refused for now: needs scope read payments' }).waitFor();
    expect(await panel().locator('.remedies').innerText()).toBe('scope "payments"');
    expect(await panel().locator('.decisive').innerText()).toContain('tools.transfer_funds.scope');
    const challenge = 'error="insufficient_scope", scope="read payments"';
    expect(await panel().locator('.challenge').innerText()).toContain(challenge);
    await page.goto(page.url());
    await panel().getByRole('heading', { name: 'Refused for now' }).waitFor();
    await page.keyboard.press('Escape');
    await panel().waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?subject=alice');
  });

  test('shows the message of the policy that the client got', async () => {
    await world.call(alice, 'close_account');
    await page.goto(`${world.adminUrl}/?subject=alice`);
    await rows('close_account').first().click();
    expect(await panel().locator('q').innerText()).toBe('Ask the owner of the account.');
  });

  /** The outcomes of rows that are not shown whole. */
  const clipped = (): Promise<readonly string[]> =>
    page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('.row .outcome')].map((outcome) => outcome.closest('.row > span'))
        .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)`,
    );

  test.each([
    ['light', 1280],
    ['dark', 400],
  ] as const)('is accessible and fits, %s, %i pixels wide', async (colorScheme, width) => {
    await world.calls();
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.goto(world.adminUrl);
    await rows('alice').first().click();
    await page.getByRole('heading', { name: 'Record' }).waitFor();
    for (const isOpen of [true, false]) {
      expect(await page.getByRole('heading', { name: 'Record' }).count()).toBe(Number(isOpen));
      expect(await findings(page)).toEqual([]);
      expect(await clipped()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await page.keyboard.press('Escape');
      await rows('alice').first().waitFor();
    }
  });
});
