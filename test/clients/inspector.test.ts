/**
 * MCP Inspector in a real browser, connected directly: what CORS forbids, a browser really withholds.
 *
 * @module
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, test } from 'vitest';

import type { Running } from '../../demo/listen.ts';
import { hasChromium, keepScreenshot, launchChromium } from './chromium.ts';
import { startInspector } from './inspector.ts';
import { startStatefulServer } from './stateful-server.ts';
import { type DemoWorld, startDemoWorld } from '../worlds/demo.ts';

if (!hasChromium) process.stdout.write('skipped: MCP Inspector in a browser; there is no Chromium\n');

async function connectDirectly(page: Page, inspector: Running, { mcpUrl }: DemoWorld): Promise<void> {
  const start = new URL(inspector.url);
  start.search = new URLSearchParams({ transport: 'streamable-http', serverUrl: mcpUrl.href }).toString();
  await page.goto(start.href);
  await page.getByRole('combobox', { name: 'Connection Type' }).click();
  await page.getByRole('option', { name: 'Direct' }).click();
  await page.getByRole('button', { name: 'Connect' }).click();
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('User name').fill('alice');
  await page.getByLabel('Password').fill(await page.locator('[data-password-of=alice]').innerText());
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function transferFunds(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'List Tools' }).click();
  await page.getByText('transfer_funds').first().click();
  await page.getByLabel(/^from\b/).fill('savings');
  await page.getByLabel(/^to\b/).fill('trading');
  await page.getByLabel(/^amount\b/).fill('10');
  await page.getByRole('button', { name: 'Run Tool' }).click();
}

// Two browsers' worth of pages on a busy machine.
describe.skipIf(!hasChromium)('MCP Inspector', { timeout: 180_000 }, () => {
  let browser: Browser;
  let inspector: Running;
  beforeAll(async () => {
    browser = await launchChromium();
    inspector = await startInspector();
  });
  afterAll(async () => {
    await browser.close();
    await inspector.close();
  });

  test('shows the words of the operator for a call that no sign-in would help', async ({ expect }) => {
    const world = await startDemoWorld({
      edit: (yaml) => yaml.replace('policy: demo-tools\n', 'policy: demo-tools\n    refusals: { final: tool_error }\n'),
      policies: {
        'demo-tools':
          'scope: read\ntools: { transfer_funds: { arguments: { /amount: { at_most: 1 } }, because: Use request_transfer. } }\n',
      },
    });
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    try {
      await connectDirectly(page, inspector, world);
      await signIn(page);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      await transferFunds(page);
      await page.getByText('Tool Result: Error').waitFor();
      await page.getByText('Access denied: Use request_transfer.').first().waitFor();
      await keepScreenshot(page, 'inspector-refused');
      expect(await world.decision({ reason: 'argument.denied' })).toMatchObject({ allow: false, subject: 'alice' });
    } finally {
      await context.close();
      await world.close();
    }
  });

  test.concurrent.for([
    { server: 'stateless', start: undefined },
    { server: 'with-sessions', start: startStatefulServer },
  ])('signs in, lists and steps up, at a server $server', async ({ server, start }, { expect }) => {
    const tools = await start?.();
    const world = await startDemoWorld(tools === undefined ? {} : { mcpServer: tools.url });
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    const posts: number[] = [];
    const sessions = new Set<string>();
    page.on('response', (response) => {
      if (response.url() === world.mcpUrl.href && response.request().method() === 'POST') posts.push(response.status());
    });
    page.on('request', (request) => void sessions.add(request.headers()['mcp-session-id'] ?? 'none'));
    try {
      await connectDirectly(page, inspector, world);
      await signIn(page);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      expect(posts.splice(0)[0], 'without a token').toBe(401);

      await transferFunds(page);
      await page.getByText('High privilege', { exact: true }).waitFor();
      expect(posts.splice(0).at(-1), 'without the scope').toBe(403);
      await keepScreenshot(page, `inspector-${server}-consent`);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();

      await transferFunds(page);
      await page.getByText('Tool Result: Success').waitFor();
      await keepScreenshot(page, `inspector-${server}-done`);
      expect(posts, 'with it').not.toContain(403);
      expect(sessions.size > 1, 'the page could read the id of its session').toBe(tools !== undefined);
      expect(await page.getByText('close_account').count(), 'what the policy hides').toBe(0);
      const calls = (await world.decisions(2)).filter(({ tool }) => tool === 'transfer_funds');
      expect(calls.map(({ allow, subject, reason }) => [allow, subject, reason])).toEqual([
        [false, 'alice', 'scope.insufficient'],
        [true, 'alice', undefined],
      ]);
    } finally {
      await context.close();
      await world.close();
      await tools?.close();
    }
  });
});
