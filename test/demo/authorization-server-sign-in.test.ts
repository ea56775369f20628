import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuthorizationServer } from '../../demo/authorization-server.ts';
import { createBrowser, signIn } from '../../demo/browser.ts';
import { obtainToken, registerClient, type OAuthClient } from '../../demo/obtain-token.ts';
import { start } from './authorization-server-requests.ts';

let server: AuthorizationServer;
let issuer: string;
let agent: OAuthClient;

beforeAll(async () => {
  server = await start();
  ({ issuer } = server);
  agent = await registerClient(issuer);
});

afterAll(() => server.close());

function authorizationUrl(changes: Record<string, string | undefined> = {}, client = agent): URL {
  const parameters = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    scope: 'read',
    state: 'from-the-client',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    ...changes,
  };
  const url = new URL(`${issuer}/oauth/v2/oauth-authorize`);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return url;
}

/** The page that a new browser ends up with. */
async function firstPage(url: URL): Promise<Response> {
  const redirect = await fetch(url, { redirect: 'manual' });
  const cookie = redirect.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
  return fetch(new URL(redirect.headers.get('location') ?? '', issuer), { headers: { cookie } });
}

describe('R-189: PKCE', () => {
  test.each([
    ['without a challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['with the plain method', { code_challenge_method: 'plain' }],
    ['with the method left out', { code_challenge_method: undefined }],
  ])('refuses a request %s', async (_case, changes) => {
    const answer = await signIn({ authorizationUrl: authorizationUrl(changes), user: 'alice' });
    expect(answer.searchParams.get('error')).toBe('invalid_request');
    expect(answer.searchParams.has('code')).toBe(false);
  });

  test('is required from trusted clients too', async () => {
    const url = authorizationUrl({
      client_id: 'demo-api-client',
      code_challenge: undefined,
      code_challenge_method: undefined,
    });
    expect((await signIn({ authorizationUrl: url, user: 'alice' })).searchParams.get('error')).toBe('invalid_request');
  });

  test('refuses a code with another verifier', async () => {
    const answer = await signIn({ authorizationUrl: authorizationUrl(), user: 'alice' });
    const response = await fetch(`${issuer}/oauth/v2/oauth-token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer.searchParams.get('code') ?? '',
        code_verifier: 'a'.repeat(43),
        redirect_uri: agent.redirectUri,
        client_id: agent.clientId,
        client_secret: agent.clientSecret ?? '',
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_grant' });
  });
});

describe('R-190: login and consent', () => {
  test('are both shown; then the client gets a code, its state and the issuer (RFC 9207)', async () => {
    const browser = createBrowser();
    const answer = await signIn({ authorizationUrl: authorizationUrl(), user: 'alice', browser });
    expect(browser.pages).toEqual(['Sign in', 'Allow access']);
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      code: expect.any(String),
      state: 'from-the-client',
      iss: issuer,
    });
  });

  test('R-191: a step-up in the same browser asks only for consent (single sign-on)', async () => {
    const browser = createBrowser();
    const wish = { issuer, browser, client: agent, user: 'alice' };
    await obtainToken({ ...wish, scope: 'read' });
    const { expiresIn, scope } = await obtainToken({ ...wish, scope: 'read payments' });
    expect(browser.pages).toEqual(['Sign in', 'Allow access', 'Allow access']);
    expect({ expiresIn, scope }).toEqual({ expiresIn: 60, scope: 'read payments' });
  });

  test('R-187: asks the user of a dynamic client again for scopes that were allowed before', async () => {
    const browser = createBrowser();
    const wish = { issuer, browser, client: agent, user: 'alice' };
    await obtainToken(wish);
    await obtainToken(wish);
    expect(browser.pages).toEqual(['Sign in', 'Allow access', 'Allow access']);
  });

  test('R-187: asks the user of a trusted client only for new scopes', async () => {
    const browser = createBrowser();
    const client = {
      clientId: 'demo-api-client',
      clientSecret: 'demo-api-secret',
      redirectUri: 'http://127.0.0.1:1/callback',
    };
    await obtainToken({ issuer, browser, client, user: 'alice' });
    await obtainToken({ issuer, browser, client, user: 'alice' });
    expect(browser.pages).toEqual(['Sign in', 'Allow access']);
  });

  test('report a refusal to the client', async () => {
    const answer = await signIn({ authorizationUrl: authorizationUrl(), user: 'alice', approve: false });
    expect(answer.searchParams.get('error')).toBe('access_denied');
    expect(answer.searchParams.get('iss')).toBe(issuer);
  });

  test('refuse a wrong password', async () => {
    const attempt = signIn({ authorizationUrl: authorizationUrl(), user: 'alice', password: 'guess' });
    await expect(attempt).rejects.toThrow('Unknown user or wrong password.');
  });

  test('refuse prompt=none without a session', async () => {
    const answer = await signIn({ authorizationUrl: authorizationUrl({ prompt: 'none' }), user: 'alice' });
    expect(answer.searchParams.get('error')).toBe('login_required');
  });

  test('show one user’s page to no other user', async () => {
    const redirect = await fetch(authorizationUrl(), { redirect: 'manual' });
    const page = await fetch(new URL(redirect.headers.get('location') ?? '', issuer));
    expect(page.status).toBe(400);
    expect(await page.text()).toContain('Something went wrong');
  });

  test('accept a cookie only for the page that it was set for', async () => {
    const { headers } = await fetch(authorizationUrl(), { redirect: 'manual' });
    const cookie = headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ');
    expect((await fetch(`${issuer}/interaction/another`, { headers: { cookie } })).status).toBe(400);
  });

  test.each([
    ['another redirect URI', { redirect_uri: 'https://evil.example/' }],
    ['an unknown client', { client_id: 'unknown' }],
  ])('shows an error page, and redirects nowhere, for %s', async (_case, changes) => {
    const response = await fetch(authorizationUrl(changes), { redirect: 'manual', headers: { accept: 'text/html' } });
    expect(response.status).toBe(400);
    expect(response.headers.get('location')).toBeNull();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('accept any port of a loopback redirect URI, RFC 8252 §7.3', async () => {
    const answer = await signIn({
      authorizationUrl: authorizationUrl({ redirect_uri: 'http://127.0.0.1:40123/callback' }),
      user: 'alice',
    });
    expect(answer.host).toBe('127.0.0.1:40123');
  });

  test('refuse a scope that dynamic clients never get', async () => {
    const answer = await signIn({ authorizationUrl: authorizationUrl({ scope: 'read admin' }), user: 'alice' });
    expect(answer.searchParams.get('error')).toBe('invalid_scope');
  });
});

describe('the pages', () => {
  test('run no script, cannot be framed, and let the form lead to the waiting client', async () => {
    const page = await firstPage(authorizationUrl());
    const policy = page.headers.get('content-security-policy') ?? '';
    const style = /<style>([^<]*)<\/style>/.exec(await page.text())?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'; `);
    expect(policy).toContain("form-action 'self' http://127.0.0.1:7777; base-uri 'none'; frame-ancestors 'none'");
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  test('escape the name of a client', async () => {
    const evil = await registerClient(issuer, '<img src=x onerror="alert(1)">');
    const html = await (await firstPage(authorizationUrl({}, evil))).text();
    expect(html).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;');
    expect(html).not.toContain('<img');
  });

  test('name the client, the resource and the scopes, and mark high privileges', async () => {
    const browser = createBrowser();
    const nowhere = new URL('about:blank');
    const login = await browser.open(authorizationUrl({ scope: 'read payments' }), nowhere);
    if (login instanceof URL) throw new Error('no page');
    const form = new URLSearchParams({ username: 'alice', password: 'wonderland', decision: 'sign-in' });
    const consent = await browser.open(login.url, nowhere, form);
    if (consent instanceof URL) throw new Error('no page');
    for (const part of [
      'An AI agent',
      'http://127.0.0.1:8080/mcp',
      '<code>read</code>',
      'http://127.0.0.1:7777',
      'alice',
    ]) {
      expect(consent.html).toContain(part);
    }
    expect(consent.html.match(/High privilege</g)).toHaveLength(1);
    expect(consent.html).toContain('(<code>payments</code>) <strong class="high">High privilege</strong>');
  });
});
