/** The front door in a real browser: what its content security policy and CORS forbid, a browser really withholds. */
import { describe, expect, test } from 'vitest';
import { startHttp } from '../support/mcp-servers.ts';
import { type QuirkyServer, startQuirkyServer } from '../support/quirky-server.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';
import { hasChromium, launchChromium, withPage } from './chromium.ts';
import { connectDirectly, startInspector } from './inspector.ts';

describe.skipIf(!hasChromium)('in Chromium', () => {
  const browser = startBeforeAll(launchChromium);
  const world = startBeforeAll(startFrontDoorWorld);
  const posted: string[] = [];
  /** The page of a client that a person comes back to. */
  const client = startBeforeAll(() =>
    startHttp((request, response) => {
      request.setEncoding('utf8').on('data', (chunk: string) => posted.push(chunk));
      request.on('end', () => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Received</h1>'));
    }),
  );

  test('MCP Inspector signs its user in, and lists tools', async () => {
    const inspector = await startInspector();
    await withPage(browser, async (page) => {
      await connectDirectly(page, inspector, world.mcpUrl);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'List Tools' }).click();
      await page.getByText('list_accounts').first().waitFor();
    });
    expect(await world.decision({ allow: true })).toMatchObject({ issuer: world.issuer });
    expect(world.observed).toContain('token authorization_code ok');
    await inspector.close();
  });

  describe('at a provider', () => {
    let provider: QuirkyServer;
    const before = startBeforeAll(() =>
      startFrontDoorWorld({
        startProvider: async () => (provider = await startQuirkyServer('google', 'https://not.asked.for/')),
      }),
    );

    test.each([
      [true, '200'],
      [false, '303'],
    ])('with a form whose policy names only the callback: %s; a person returns by a %s', async (hasForm, status) => {
      provider.page = (response) => {
        if (!hasForm) return false;
        const policy = `form-action 'self' ${before.issuer}/callback/corporate`;
        response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy });
        response.end('<form method="post"><button>Sign in</button></form>');
        return true;
      };
      const registered = await registerClient(before.issuer, { redirect_uris: [`${client.url}/callback`] });
      const callbacks: string[] = [];
      await withPage(browser, async (page) => {
        page.on('response', (response) => {
          if (response.url().includes('/callback/corporate')) callbacks.push(String(response.status()));
        });
        await page.goto(registered.authorizationUrl().href);
        await page.getByRole('button', { name: 'Allow' }).click();
        if (hasForm) await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'Received' }).waitFor();
      });
      expect(callbacks).toEqual([status]);
    });
  });

  test('a page of oidc-provider submits itself to the client, with the one script that its policy names', async () => {
    const registered = await registerClient(world.issuer, { redirect_uris: [`${client.url}/callback`] });
    await withPage(browser, async (page) => {
      const blocked: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') blocked.push(message.text());
      });
      await page.goto(registered.authorizationUrl({ response_mode: 'form_post' }).href);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByRole('heading', { name: 'Received' }).waitFor();
      expect(blocked.filter((text) => /Content Security Policy/i.test(text))).toEqual([]);
    });
    expect(posted.join('')).toMatch(/^code=[\w.-]+&iss=/);
  });

  test('another one confirms a sign-out without a session', async () => {
    await withPage(browser, async (page) => {
      await page.goto(`${world.issuer}/sign-out`);
      await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    });
    expect(world.observed.filter((line) => line.startsWith('bug'))).toEqual([]);
  });
});
