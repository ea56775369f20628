/** The front door in a real browser: what its content security policy and CORS forbid, a browser really withholds. */
import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen, type Running } from '../../demo/listen.ts';
import { hasChromium, keepScreenshot, launchChromium } from './chromium.ts';
import { startInspector } from './inspector.ts';
import { google, startEmulatedProvider } from '../support/emulated-provider.ts';
import type { TestIdentityProvider } from '../support/identity-provider.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';
import { registerClient } from '../worlds/oauth-client.ts';

if (!hasChromium) process.stdout.write('skipped: the front door in a browser; there is no Chromium\n');

describe.skipIf(!hasChromium)('in Chromium', { timeout: 120_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  async function withPage(use: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    try {
      await use(await context.newPage());
    } finally {
      await context.close();
    }
  }

  test.for([
    { place: 'at an origin of its own', below: undefined },
    { place: 'behind a public route', below: '/signin' },
  ])('MCP Inspector signs its user in $place, and lists tools', async ({ below }) => {
    const world = await startFrontDoorWorld(below === undefined ? {} : { below });
    world.provider.person = { sub: '248289761001' };
    const inspector = await startInspector();
    try {
      await withPage(async (page) => {
        const start = new URL(inspector.url);
        start.search = new URLSearchParams({ transport: 'streamable-http', serverUrl: world.mcpUrl.href }).toString();
        await page.goto(start.href);
        await page.getByRole('combobox', { name: 'Connection Type' }).click();
        await page.getByRole('option', { name: 'Direct' }).click();
        await page.getByRole('button', { name: 'Connect' }).click();
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.getByText('Connected', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'List Tools' }).click();
        await page.getByText('list_accounts').first().waitFor();
        await keepScreenshot(page, `inspector-front-door${below === undefined ? '' : '-below'}`);
      });
      expect(await world.decision({ allow: true })).toMatchObject({ issuer: world.issuer });
      expect(world.observed).toContain('token authorization_code ok');
    } finally {
      await Promise.all([inspector.close(), world.close()]);
    }
  });

  test('a person returns from a form of the provider whose policy names only the callback', async () => {
    const client = await listen(
      createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Received</h1>')),
      0,
    );
    const callbacks: (string | undefined)[] = [];
    let showsForm = true;
    // Before the provider: a page of its own, whose form may lead to itself and to the callback alone.
    const startProvider = async (redirectUri: string): Promise<TestIdentityProvider> => {
      const provider = await startEmulatedProvider(google, redirectUri);
      provider.page = (response) => {
        if (!showsForm) return false;
        const policy = `form-action 'self' ${redirectUri}`;
        response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy });
        response.end('<form method="post"><button>Sign in</button></form>');
        return true;
      };
      return provider;
    };
    const world = await startFrontDoorWorld({ startProvider });
    try {
      const registered = await registerClient(world.issuer, { redirect_uris: [`${client.url}/callback`] });
      for (const shows of [true, false]) {
        showsForm = shows;
        // oxlint-disable-next-line no-await-in-loop: one sign-in after another
        await withPage(async (page) => {
          page.on('response', (response) => {
            if (response.url().includes('/callback/corporate')) callbacks.push(String(response.status()));
          });
          await page.goto(registered.authorizationUrl().href);
          await page.getByRole('button', { name: 'Allow' }).click();
          if (shows) await page.getByRole('button', { name: 'Sign in' }).click();
          await page.getByRole('heading', { name: 'Received' }).waitFor();
        });
      }
      expect(callbacks).toEqual(['200', '303']);
    } finally {
      await Promise.all([world.close(), client.close()]);
    }
  });

  describe('the pages of oidc-provider', () => {
    let world: FrontDoorWorld;
    let client: Running;
    const posted: string[] = [];
    beforeAll(async () => {
      world = await startFrontDoorWorld();
      const server = createServer((request, response) => {
        request.setEncoding('utf8').on('data', (chunk: string) => posted.push(chunk));
        request.on('end', () => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Received</h1>'));
      });
      client = await listen(server, 0);
    });
    afterAll(() => Promise.all([world.close(), client.close()]));

    test('submit themselves to the client, with the one script that their policy names', async () => {
      const registered = await registerClient(world.issuer, { redirect_uris: [`${client.url}/callback`] });
      await withPage(async (page) => {
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

    test('confirm a sign-out without a session', async () => {
      await withPage(async (page) => {
        await page.goto(`${world.issuer}/sign-out`);
        await page.getByRole('heading', { name: 'Signed out' }).waitFor();
      });
      expect(world.observed.filter((line) => line.startsWith('bug'))).toEqual([]);
    });
  });
});
