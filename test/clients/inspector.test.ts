/**
 * MCP Inspector in a real browser, connected directly: what CORS forbids, a browser really withholds.
 *
 * @module
 */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { startDemoBeforeAll } from '../worlds/demo.ts';
import { hasChromium, launchChromium, withPage } from './chromium.ts';
import { connectDirectly, startInspector } from './inspector.ts';
import { startStatefulServer } from './stateful-server.ts';

async function transferFunds(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'List Tools' }).click();
  await page.getByText('transfer_funds').first().click();
  await page.getByLabel(/^from\b/).fill('savings');
  await page.getByLabel(/^to\b/).fill('trading');
  await page.getByLabel(/^amount\b/).fill('10');
  await page.getByRole('button', { name: 'Run Tool' }).click();
}

describe.skipIf(!hasChromium)('MCP Inspector', () => {
  const browser = startBeforeAll(launchChromium);
  const inspector = startBeforeAll(startInspector);
  const { world } = startDemoBeforeAll({ tools: startStatefulServer });

  test('signs in, lists and steps up, at a server with sessions', async () => {
    await withPage(browser, async (page) => {
      const posts: number[] = [];
      const sessions = new Set<string>();
      page.on('response', (response) => {
        const isPost = response.request().method() === 'POST';
        if (response.url() === world().mcpUrl.href && isPost) posts.push(response.status());
      });
      page.on('request', (request) => void sessions.add(request.headers()['mcp-session-id'] ?? 'none'));
      await connectDirectly(page, inspector, world().mcpUrl);
      await page.getByLabel('User name').fill('alice');
      await page.getByLabel('Password').fill(await page.locator('[data-password-of=alice]').innerText());
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      expect(posts.splice(0)[0], 'without a token').toBe(401);

      await transferFunds(page);
      await page.getByText('High privilege', { exact: true }).waitFor();
      expect(posts.splice(0).at(-1), 'without the scope').toBe(403);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();

      await transferFunds(page);
      await page.getByText('Tool Result: Success').waitFor();
      expect(posts, 'with it').not.toContain(403);
      expect(sessions.size, 'the page could read the id of its session').toBeGreaterThan(1);
      expect(await page.getByText('close_account').count(), 'what the policy hides').toBe(0);
    });
    const calls = (await world().decisions(2)).filter(({ tool }) => tool === 'transfer_funds');
    expect(calls.map(({ allow, subject, reason }) => [allow, subject, reason])).toEqual([
      [false, 'alice', 'scope.insufficient'],
      [true, 'alice', undefined],
    ]);
  });
});
