/**
 * The front door is one client of the provider for all MCP clients (a confused deputy, unless each client has consent of
 * its own), and its consent page is what an attacker wants people to click on unseen.
 *
 * @module
 */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createBrowser } from '../../demo/browser.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor:
      'clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**", "https://known.example/**", "https://evil.example/**"] } }',
  }),
);

/** The answers to consent pages that counted. */
const decisions = (): readonly string[] => world.observed.filter((line) => line.startsWith('consent'));

/** Opens the consent page of a client in a tab. */
async function consentPage(client: OAuthClient) {
  const browser = createBrowser();
  const begun = await browser.fetch(client.authorizationUrl());
  const url = new URL(begun.headers.get('location') ?? '', world.issuer);
  const page = await browser.fetch(url);
  const answer = (form: URLSearchParams | string, headers = {}): Promise<Response> => browser.fetch(url, headers, form);
  return { browser, url, page, answer, html: await page.text() };
}

describe('confused deputy', () => {
  test('consent to one client does nothing for another one of the same person', async () => {
    const browser = createBrowser();
    const known = await registerClient(world.issuer, { redirect_uris: ['https://known.example/cb'] });
    await known.token({ browser });
    const asked = decisions().length;
    await known.token({ browser });
    expect(decisions(), 'remembered').toHaveLength(asked);
    const evil = await registerClient(world.issuer, { redirect_uris: ['https://evil.example/cb'] });
    const { callback } = await evil.authorize({ browser, approve: false });
    expect(callback.searchParams.get('error')).toBe('access_denied');
    expect(callback.searchParams.has('code')).toBe(false);
  });

  test('`prompt=none` gives no code without consent', async () => {
    const browser = createBrowser();
    const known = await registerClient(world.issuer, { redirect_uris: ['https://known.example/cb'] });
    await known.token({ browser });
    const evil = await registerClient(world.issuer, { redirect_uris: ['https://evil.example/cb'] });
    expect(await evil.errorOf({ browser, parameters: { prompt: 'none' } })).toMatch(/_required$/);
    const local = await registerClient(world.issuer);
    await local.token({ browser });
    // On loopback, any program may be the client.
    expect(await local.errorOf({ browser, parameters: { prompt: 'none' } })).toBe('consent_required');
  });
});

describe('the consent form', () => {
  const form = new URLSearchParams({ decision: 'approve' });

  test('counts only in the browser that began the request', async () => {
    const { url } = await consentPage(await registerClient(world.issuer));
    const before = decisions().length;
    const stranger = await fetch(url, { method: 'POST', body: form, redirect: 'manual' });
    expect(stranger.status).toBe(400);
    const { browser } = await consentPage(await registerClient(world.issuer));
    expect((await browser.fetch(url, {}, form)).status, 'with the cookie of another one').toBe(400);
    expect(decisions().slice(before)).toEqual([]);
  });

  test.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ])('is refused with %j', async (headers) => {
    const { answer } = await consentPage(await registerClient(world.issuer));
    const before = decisions().length;
    expect((await answer(form, headers)).status).toBe(400);
    expect(decisions().slice(before)).toEqual([]);
    expect((await answer(form, { origin: new URL(world.issuer).origin })).status).toBe(200);
  });

  test('is not answered by a GET, by JSON, or by a form of 20,000 characters', async () => {
    const { browser, url, answer } = await consentPage(await registerClient(world.issuer));
    const before = decisions().length;
    expect(await (await browser.fetch(new URL('?decision=approve', url))).text()).toContain('value="approve"');
    const json = await answer('{"decision":"approve"}', { 'content-type': 'application/json' });
    const long = await answer(new URLSearchParams({ decision: 'a'.repeat(20_000) }));
    expect([json.status, long.status]).toEqual([400, 413]);
    expect(decisions().slice(before)).toEqual([]);
  });

  test('its cookies are out of reach of scripts and of other sites', async () => {
    const begun = await createBrowser().fetch((await registerClient(world.issuer)).authorizationUrl());
    const cookies = begun.headers.getSetCookie().filter((cookie) => !cookie.includes('expires=Thu, 01 Jan 1970'));
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie.toLowerCase()).toMatch(/samesite=lax.*httponly|httponly.*samesite=lax/);
  });
});

test.each(['consent', 'failure', 'sign-out'])('no site can frame the %s page', async (which) => {
  const pages = {
    consent: async () => (await consentPage(await registerClient(world.issuer))).page,
    failure: () => fetch(`${world.issuer}/authorize?client_id=unknown`),
    'sign-out': () => fetch(`${world.issuer}/sign-out`),
  };
  const { headers } = await pages[which as keyof typeof pages]();
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('cache-control')).toMatch(/no-store/);
});

test('the consent page loads nothing and runs no script', async () => {
  const { page, html } = await consentPage(await registerClient(world.issuer));
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(html).not.toContain('<script');
});

test('a page of oidc-provider loads nothing, and runs only the script that its policy names', async () => {
  const page = await fetch(`${world.issuer}/sign-out`);
  const html = await page.text();
  const [, script = ''] = /<script>([^]*?)<\/script>/.exec(html) ?? [];
  expect(script).toContain('submit()');
  const directives = (page.headers.get('content-security-policy') ?? '').split(/; ?/);
  expect(directives).toEqual([
    "default-src 'none'",
    `script-src 'report-sample' 'sha256-${hash('sha256', script, 'base64')}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
});

describe('markup', () => {
  const markup = '<img src=x onerror=alert(1)>"\'&</h1><script>alert(1)</script>';

  test('in `client_name` is shown as text', async () => {
    const { html } = await consentPage(await registerClient(world.issuer, { client_name: markup }));
    expect(html).not.toContain('<img');
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;');
    expect(html).toContain('It is not verified.');
  });

  test('that is invisible is left out of `client_name`', async () => {
    const name = 'Desk\u202E\u2066\u200B\n\u2028app\uDB40\uDC41';
    const { html } = await consentPage(await registerClient(world.issuer, { client_name: name }));
    expect(html).toContain('Allow Deskapp to act for you?');
  });

  test('in an error is shown as text', async () => {
    const page = await fetch(`${world.issuer}/authorize?client_id=${encodeURIComponent(markup)}`);
    expect(await page.text()).not.toContain('<img');
    const other = await fetch(`${world.issuer}/callback/corporate?state=x&error=${encodeURIComponent(markup)}`);
    expect(await other.text()).not.toContain('<img');
  });

  test('in members that the page does not use never arrives', async () => {
    const uris = Object.fromEntries(['logo', 'tos', 'client'].map((name) => [`${name}_uri`, 'https://evil.example/']));
    const { html } = await consentPage(await registerClient(world.issuer, uris));
    expect(html).not.toContain('evil.example');
  });
});
