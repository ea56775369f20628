import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasChromium } from '../../clients/chromium.ts';
import { findings } from './accessibility.ts';
import { browserPage } from './browser-page.ts';
import { startConsoleWorld } from './world.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';

const world = startBeforeAll(startConsoleWorld);
beforeAll(async () => {
  await world.calls();
});

/** Posts a draft as the page does, with other headers; undefined leaves one out. */
function post(body: unknown, headers: Readonly<Record<string, string | undefined>> = {}): Promise<Response> {
  const own = Object.entries({ origin: world.adminUrl, 'x-sallyport-console': '1', ...headers });
  const sent = own.filter((entry): entry is [string, string] => entry[1] !== undefined);
  return fetch(`${world.adminUrl}/console/draft`, { method: 'POST', headers: sent, body: JSON.stringify(body) });
}

describe('a draft', () => {
  test.each([
    ['of another origin', { origin: 'http://evil.example' }],
    ['without the header of the page', { 'x-sallyport-console': undefined }],
    ['of a page without an origin', { origin: undefined }],
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
  ])('%s is refused', async (_which, headers) => {
    expect((await post({}, headers)).status).toBe(403);
  });

  test.each([
    [400, 'text'],
    [400, { policy: 'demo-tools' }],
    [404, { policy: 'elsewhere', text: '{}' }],
    [413, { policy: 'demo-tools', text: '#'.repeat(600_000) }],
  ])('gets %i for a body that is none', async (status, body) => {
    expect((await post(body)).status).toBe(status);
  });

  test('R-247: changes nothing', async () => {
    const draft = { policy: 'demo-tools', text: 'scope: other\n', isThorough: true };
    expect(await (await post(draft)).json()).toMatchObject({
      problems: [],
      replay: { decided: expect.any(Number) as number },
    });
    expect(await world.call({ sub: 'alice', scope: 'read' }, 'get_balance')).toBe(200);
    expect(await readFile(join(world.folder, 'policies', 'demo-tools.yaml'), 'utf8')).toContain('scope: read');
  });
});

test('lists more policies than drafts may wait', async () => {
  const many = await forThisTest(startConsoleWorld());
  const names = Array.from({ length: 12 }, (_, at) => `policy-${at}`);
  for (const name of names) await writeFile(join(many.folder, 'policies', `${name}.yaml`), 'scope: read\n');
  expect(await many.reload()).toEqual([]);
  const list = await many.read<readonly { readonly name: string }[]>('/console/policies');
  expect(list.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

describe.skipIf(!hasChromium)('Policies in a browser', () => {
  const page = browserPage();
  const editor = () => page.getByLabel('Policy draft');
  const draft = async () => (await editor().locator('.cm-line').allTextContents()).join('\n');
  /**
   * Replaces the draft as a person does, by the editor's own selection. `fill` selects in the document, and the editor
   * forgets that if it renders an answer before the text is there.
   */
  async function write(text: string): Promise<void> {
    await editor().focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
    await expect.poll(draft).toBe(text);
  }
  const counter = (name: string) => page.locator('summary', { hasText: name });

  test('shows each policy with its routes and tests, and opens the playground', async () => {
    await page.goto(`${world.adminUrl}/policies`);
    const row = page.locator('.row', { hasText: 'demo-tools' });
    await row.getByText('5 ✓').waitFor();
    expect(await findings(page)).toEqual([]);
    await row.getByRole('link').click();
    await editor().waitFor();
    expect(page.url()).toBe(`${world.adminUrl}/policies?policy=demo-tools`);
  });

  test('says that a policy is not in force, and asks again for policies that it did not get', async () => {
    let refused = 0;
    await page.route('**/console/policies', async (route) => {
      await route.fulfill({ status: 503, body: 'Too many drafts.' });
      refused += 1;
    });
    await page.goto(`${world.adminUrl}/policies?policy=elsewhere`);
    await page.getByText('Too many drafts.').waitFor();
    // The page asks once more when it is connected.
    await expect.poll(() => refused).toBe(2);
    await page.unroute('**/console/policies');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').getByText('There is no policy elsewhere in force.').waitFor();
    expect(await page.locator('.row', { hasText: 'demo-tools' }).count()).toBe(1);
  });

  test('shows what an edit would change: decision, tests, kept decisions, and the diff', async () => {
    await page.goto(`${world.adminUrl}/policies?policy=demo-tools`);
    await page.getByLabel('scope').fill('read payments');
    await page.getByLabel('claims').fill('{"role":"analyst"}');
    await page.getByLabel('name', { exact: true }).fill('transfer_funds');
    await page.locator('.answer', { hasText: 'claim role: wanted "trader", found "analyst"' }).waitFor();
    const text = await readFile(join(world.folder, 'policies', 'demo-tools.yaml'), 'utf8');
    await write(text.replace('role: trader', 'role: analyst'));
    await page.locator('.answer', { hasText: 'allowed, if the policy accepts the arguments' }).waitFor();
    await counter('Tests').getByText('2 ✕').waitFor();
    await counter('Properties').getByText('1 ✕').waitFor();
    await counter('Kept decisions')
      .getByText(/[1-9]\d* of \d+ would differ/)
      .waitFor();
    await counter('Kept decisions').click();
    await page.getByRole('row', { name: /would be denied transfer_funds alice/ }).waitFor();
    expect(await findings(page)).toEqual([]);
    const href = await page.getByRole('link', { name: 'Download' }).getAttribute('href');
    expect(decodeURIComponent(href ?? '')).toContain('role: analyst');
  });

  test('shows a problem of the draft at its line, as check says it', async () => {
    await page.goto(`${world.adminUrl}/policies?policy=risk`);
    await write('scope: read\nscpe: read\n');
    await page.locator('.cm-lint-marker-error').waitFor();
    // An image would not pass the content security policy.
    const marker = "document.querySelector('.editor').shadowRoot.querySelector('.cm-lint-marker-error')";
    expect(await page.evaluate(`getComputedStyle(${marker}).content`)).toBe('normal');
    expect(await page.evaluate(`getComputedStyle(${marker}, '::before').content`)).toBe('"✕"');
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toMatch(/^2:1 scpe: unknown key \(did you mean scope\?\)/);
  });

  test('completes the keys of a policy', async () => {
    await page.goto(`${world.adminUrl}/policies?policy=risk`);
    await write('scope: read\n');
    await page.keyboard.press('Control+End');
    await page.keyboard.type('max');
    const option = page.getByRole('option', { name: 'max_lifetime' });
    await option.waitFor();
    // The editor ignores a click right after the options appear.
    const chosen = async (): Promise<string> => {
      if (await option.isVisible()) await option.click();
      return draft();
    };
    await expect.poll(chosen).toBe('scope: read\nmax_lifetime: ');
  });

  test('takes the lifetime of a kept decision, if the policy read it', async () => {
    const own = await forThisTest(startConsoleWorld({ tool: '{ max_lifetime: 10h }' }));
    await own.call({ sub: 'ivan', scope: 'read' }, 'order');
    await page.goto(`${own.adminUrl}/?subject=ivan`);
    await page.locator('.row', { hasText: 'order' }).click();
    await page.getByRole('link', { name: 'Open in playground' }).click();
    await expect.poll(() => page.getByLabel('lifetime, s').inputValue()).toBe('10800');
  });

  test('takes the question of a kept decision', async () => {
    await world.call({ sub: 'heidi', scope: 'read', role: 'trader' }, 'close_account');
    await page.goto(`${world.adminUrl}/?subject=heidi`);
    await page.locator('.row', { hasText: 'close_account' }).click();
    await page.getByRole('link', { name: 'Open in playground' }).click();
    await page.locator('.answer', { hasText: /claim role: wanted .* found "trader"/ }).waitFor();
    await expect.poll(() => page.getByLabel('claims').inputValue()).toBe('{"role":"trader"}');
  });
});
