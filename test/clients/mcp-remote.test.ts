/** A person with Chromium and mcp-remote walks the demo with the front door, the step-up included. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { browserPage } from '../capabilities/console/browser-page.ts';
import { startFrontDoorDemo } from '../worlds/demo.ts';
import { hasChromium } from './chromium.ts';

const proxy = fileURLToPath(new URL('../../node_modules/mcp-remote/dist/proxy.js', import.meta.url));

/** mcp-remote, which asks its user to visit addresses. */
async function startMcpRemote(url: string) {
  const home = await mkdtemp(join(tmpdir(), 'mcp-remote-'));
  const transport = new StdioClientTransport({
    command: process.execPath,
    // It gives a person 30 s, which a busy machine needs.
    args: [proxy, url, '--auth-timeout', '600'],
    // Nothing opens a browser besides the test.
    env: { PATH: home, HOME: home, MCP_REMOTE_CONFIG_DIR: home, BROWSER: 'none' },
    stderr: 'pipe',
  });
  let printed = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const addresses = () => [...printed.matchAll(/(http:\S+\/authorize\?\S+)\s/g)].map(([, address = '']) => address);
  // For a step-up it prints the address first, and then starts its server anew.
  const ready = () => Math.min(addresses().length, printed.split('OAuth callback server running at').length - 1);
  let visited = 0;
  const client = new Client({ name: 'desk', version: '1.0.0' });
  return {
    client,
    connected: client.connect(transport),
    async nextAddress(): Promise<string> {
      await expect.poll(ready).toBeGreaterThan(visited);
      return addresses()[visited++] ?? '';
    },
    async close() {
      await client.close();
    },
  };
}

describe.runIf(hasChromium)('mcp-remote and Chromium', () => {
  const page = browserPage();

  test('sign in at the company, step up, and renew the short token without the person', async () => {
    const demo = await startFrontDoorDemo();
    const remote = await startMcpRemote(`${demo.gatewayUrl}/mcp`);
    try {
      await page.goto(await remote.nextAddress());
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.locator('input[name=username]').fill('alice');
      const password = await page.locator('code[data-password-of=alice]').textContent();
      await page.locator('input[name=password]').fill(password ?? '');
      await page.locator('button[value=sign-in]').click();
      await page.waitForURL(/\/oauth\/callback/);
      await remote.connected;
      const { tools } = await remote.client.listTools();
      expect(tools.map(({ name }) => name)).toContain('transfer_funds');

      const amount = { from: 'savings', to: 'trading', amount: 10 };
      const transfer = () => remote.client.callTool({ name: 'transfer_funds', arguments: amount });
      const moved = transfer();
      await page.goto(await remote.nextAddress());
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/\/oauth\/callback/);
      expect(await moved).not.toMatchObject({ isError: true });
      // Its token lives for a minute: mcp-remote renews it before each use.
      expect(await transfer()).not.toMatchObject({ isError: true });
    } finally {
      await remote.close();
      await demo.close();
    }
  });
});
