import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasChromium, keepScreenshot, launchChromium } from '../clients/chromium.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';

const markup = '<img src=x onerror="document.title=1">';

let issuer: Issuer;
let gateway: TestGateway;

beforeAll(async () => {
  issuer = await startIssuer();
  gateway = await startTestGateway({
    yaml: `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: http://127.0.0.1:1/mcp } }
`,
    policies: { tools: 'tools: { get: {} }\n' },
  });
  const token = await issuer.sign({ aud: 'r' });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: markup, arguments: {} } });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body });
});
afterAll(async () => {
  await gateway.close();
  await issuer.close();
});

describe('the console', () => {
  test('shows the configuration in force, and the newest denials as logged', async () => {
    const seen = (await (await fetch(`${gateway.adminUrl}/console.json`)).json()) as Record<string, unknown[]>;
    expect(seen['routes']).toEqual([
      { name: 'tools', path: '/mcp', protocol: 'mcp', policy: 'tools', upstream: 'http://127.0.0.1:1/mcp' },
    ]);
    expect(seen['denials']).toEqual([await gateway.decision()]);
    expect(seen['servers']).toMatchObject([{ name: 'main', issuer: issuer.url }]);
  });

  describe.skipIf(!hasChromium)('in a browser', () => {
    let browser: Browser;
    let page: Page;
    const complaints: string[] = [];
    beforeAll(async () => {
      browser = await launchChromium();
      page = await browser.newPage();
      page.on('console', (message) => complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(gateway.adminUrl);
    });
    afterAll(async () => browser.close());

    test('shows a denial, with the text of a caller never as markup', async () => {
      const row = page.locator('#denials tr', { hasText: 'tool.unlisted' });
      await row.waitFor();
      expect(await row.innerText()).toContain(markup);
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.title()).toBe('Sallyport');
      expect(complaints).toEqual([]);
      await keepScreenshot(page, 'console');
    });
  });
});
