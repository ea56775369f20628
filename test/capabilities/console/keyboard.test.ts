import { beforeAll, describe, expect, test } from 'vitest';
import type { Past } from '../../../src/capabilities/console/messages.ts';
import { hasChromium, launchChromium } from '../../clients/chromium.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll, startBeforeEach } from '../../support/start-before.ts';

const alice = { sub: 'alice', client_id: 'claude', scope: 'read payments', role: 'trader' };

/** What has the focus: its name, and whether the reader sees that it has it. */
interface Focused {
  readonly name: string;
  readonly isVisible: boolean;
}

/** Runs in the page. The editor is in a shadow root; a row shows the focus of its link. */
const focused = `(() => {
  let element = document.activeElement;
  while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  if (element === document.body) return { name: '', isVisible: true };
  const label = element.labels?.[0]?.querySelector('span')?.textContent;
  const name = element.dataset.decision ? 'decision' : element.getAttribute('aria-label') ?? label ?? element.textContent;
  const shows = element.closest('.row') ?? element;
  const { outlineStyle, outlineWidth } = getComputedStyle(shows);
  const editor = getComputedStyle(element.closest('.cm-focused') ?? element, '::after');
  const isDrawn = (outlineStyle === 'solid' && outlineWidth === '2px') || editor.borderTopWidth === '2px';
  const { top, bottom } = shows.getBoundingClientRect();
  return { name: name.trim(), isVisible: isDrawn && bottom > 0 && top < innerHeight };
})()`;

describe.skipIf(!hasChromium)('the console by keyboard', () => {
  let decision: string;
  const world = startBeforeAll(() =>
    startConsoleWorld({ more: 'console: { grafana: https://grafana.example/d/sallyport }' }),
  );
  beforeAll(async () => {
    await world.call(alice, 'get_balance');
    await world.call({ ...alice, scope: 'read' }, 'transfer_funds', { amount: 10 });
    decision = (await world.read<Past>('/console/past?outcome=challenged')).rows[0]?.id ?? '';
  });
  const browser = startBeforeAll(launchChromium);
  // Where the focus was on the page before would change where Tab leads.
  const page = startBeforeEach(() => browser.newPage());

  const focusNow = (): Promise<Focused> => page.evaluate<Focused>(focused);
  const row = (text: string) => page.locator('.row', { hasText: text });

  /** Presses Tab until the focus leaves the page; returns what had it, in order. */
  async function walk(): Promise<readonly string[]> {
    const names: string[] = [];
    for (;;) {
      await page.keyboard.press('Tab');
      const { name } = await focusNow();
      if (name === '') return names;
      // The editor marks its focus a moment later.
      await expect.poll(async () => (await focusNow()).isVisible, { message: `the focus on ${name}` }).toBe(true);
      names.push(name);
    }
  }

  const top = ['Sallyport', 'Live', 'Policies', 'Health', 'all well'];
  const plots = ['allowed', 'challenged', 'refused', 'unavailable', 'shadow', 'decision, ms', 'upstream, ms'].map(
    (of) => `${of}, last hour`,
  );
  const filters = ['route', 'outcome', 'subject', 'client', 'tool', 'reason'];

  test('Tab reaches everything in Live, in the order of reading', async () => {
    await page.goto(world.adminUrl);
    await row('alice').first().waitFor();
    const rows = Array.from({ length: await page.locator('.row').count() }, () => 'decision');
    expect(await walk()).toEqual([...top, ...filters, ...plots, 'Pause', ...rows]);
  });

  test('arrow keys read the past of a plot, ten seconds a step, and leaving it shows the present', async () => {
    await page.goto(world.adminUrl);
    const plot = page.getByRole('slider', { name: 'allowed, last hour' });
    const caption = page.locator('.plot').first().locator('figcaption');
    const shown = async (): Promise<string> => (await plot.getAttribute('aria-valuetext')) ?? '';
    await plot.focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(shown).toMatch(/^\d\d:\d\d:\d\d: allowed .*\/s$/);
    const later = Number(await plot.getAttribute('aria-valuenow'));
    await page.keyboard.press('PageDown');
    await expect.poll(async () => Number(await plot.getAttribute('aria-valuenow'))).toBe(later - 6);
    expect(await caption.innerText()).toContain((await shown()).slice(0, 8));
    await page.keyboard.press('Home');
    await expect.poll(() => plot.getAttribute('aria-valuenow')).toBe('0');
    await page.keyboard.press('Tab');
    await expect.poll(shown).toMatch(/^now: allowed /);
    expect(await caption.innerText()).toContain('allowed');
  });

  test('Tab reaches everything in a decision', async () => {
    await page.goto(`${world.adminUrl}/?decision=${decision}`);
    await page.getByRole('heading', { name: 'Record' }).waitFor();
    const id = `${decision.slice(0, 8)}…`;
    const actions = ['Copy as test', 'Open in playground', 'Copy link', 'subject', 'tool', 'reason'];
    expect((await focusNow()).name).toBe('Decision');
    expect(await walk()).toEqual([id, 'Close', expect.stringMatching(/^[\w-]{8}…$/), ...actions]);
  });

  test('Tab reaches everything in Policies, and in the playground', async () => {
    await page.goto(`${world.adminUrl}/policies`);
    await row('risk').waitFor();
    await page.getByText('all well').waitFor();
    expect(await walk()).toEqual([...top, 'demo-tools', 'risk']);
    await page.goto(`${world.adminUrl}/policies?policy=demo-tools`);
    await page.getByLabel('Policy draft').waitFor();
    await page.getByText('nothing differs').waitFor();
    expect((await focusNow()).name).toBe('demo-tools');
    const fields = ['scope', 'claims', 'lifetime, s', 'kind of call', 'name', 'arguments', 'calls before'];
    expect(await walk()).toEqual([
      'Copy diff',
      'Download',
      'Policy draft',
      ...fields,
      expect.stringMatching(/^Tests/),
      expect.stringMatching(/^Properties/),
      expect.stringMatching(/^Meaning of this edit/),
      expect.stringMatching(/^Kept decisions/),
    ]);
  });

  test('Tab reaches everything in Health', async () => {
    await page.goto(`${world.adminUrl}/health`);
    await page.getByRole('heading', { name: 'Routes' }).waitFor();
    expect(await walk()).toEqual([...top, 'Grafana']);
  });

  test('finds by keys why a call of alice was refused, and returns to its row', async () => {
    await page.goto(world.adminUrl);
    await row('alice').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('alice');
    await page.waitForURL('**/?subject=alice');
    await page.getByLabel('outcome').selectOption('all denied');
    await row('get_balance').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    expect(await focusNow()).toEqual({ name: 'decision', isVisible: true });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refused for now: needs scope read payments' }).waitFor();
    expect(await page.locator('.remedies').innerText()).toBe('scope "payments"');
    expect((await focusNow()).name).toBe('Decision');
    await page.keyboard.press('Escape');
    await expect.poll(focusNow).toEqual({ name: 'decision', isVisible: true });
  });

  test('rows stay while the focus moves through them, so that it is not lost', async () => {
    await page.goto(world.adminUrl);
    await row('alice').first().waitFor();
    await page.keyboard.press('j');
    await world.call({ ...alice, sub: 'nina' }, 'close_account');
    await page.getByText('1 new').waitFor();
    expect(await row('nina').count()).toBe(0);
    await page.keyboard.press('/');
    await row('nina').waitFor();
  });

  test('the focus returns to the policy whose playground closes, and a draft is not lost to Escape', async () => {
    await page.goto(`${world.adminUrl}/policies`);
    await page.getByRole('link', { name: 'risk' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Policy draft').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'demo-tools' }).waitFor();
    await expect.poll(focusNow).toEqual({ name: 'risk', isVisible: true });
    await page.keyboard.press('Enter');
    await page.getByLabel('Policy draft').focus();
    await page.keyboard.type('#');
    await page.getByText('a draft: nothing is saved').waitFor();
    await page.getByRole('heading', { name: 'risk' }).focus();
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(await page.getByText('a draft: nothing is saved').count()).toBe(1);
  });
});
