import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuthorizationServer } from '../../demo/authorization-server.ts';
import { createBrowser } from '../../demo/browser.ts';
import { demoApiClient, obtainToken, refresh, registerClient, type OAuthClient } from '../../demo/obtain-token.ts';
import { apiAudience, asGateway, introspect, mcpResource, post, start } from './authorization-server-requests.ts';

const otherMcp = 'https://tools.example/mcp';

let server: AuthorizationServer;
let issuer: string;
let agent: OAuthClient;

beforeAll(async () => {
  server = await start({
    extraMcpResources: [otherMcp],
    extraAccounts: [{ name: 'erin', password: 'p', claims: { risk: '12', realm_access: { roles: ['trader'] } } }],
  });
  ({ issuer } = server);
  agent = await registerClient(issuer);
});

afterAll(() => server.close());

describe('tokens for the MCP server', () => {
  test('R-193: are opaque, for 900 seconds, without a refresh token', async () => {
    const tokens = await obtainToken({ issuer, client: agent, user: 'alice', scope: 'read', resource: mcpResource });
    expect(tokens).toEqual({ accessToken: expect.any(String), expiresIn: 900, scope: 'read', tokenType: 'Bearer' });
    expect(tokens.accessToken).not.toContain('.');
  });

  test('R-194: have user, client, audience and the mark of an AI agent at introspection', async () => {
    const { accessToken } = await obtainToken({ issuer, client: agent, user: 'alice', scope: 'read write' });
    const answer = await introspect(issuer, accessToken);
    expect(answer).toMatchObject({
      active: true,
      iss: issuer,
      aud: mcpResource,
      sub: 'alice',
      client_id: agent.clientId,
      scope: 'read write',
      token_type: 'Bearer',
      risk: 20,
      role: 'trader',
      tenant: 'acme',
      country: 'SE',
      ai_agent: true,
    });
    expect(Number(answer.exp) - Number(answer.iat)).toBe(900);
  });

  test('R-195: last 60 seconds with a high-privilege scope', async () => {
    const { accessToken, expiresIn } = await obtainToken({
      issuer,
      client: agent,
      user: 'alice',
      scope: 'read payments',
    });
    expect(expiresIn).toBe(60);
    const { exp, iat, scope } = await introspect(issuer, accessToken);
    expect(scope).toBe('read payments');
    expect(Number(exp) - Number(iat)).toBeLessThanOrEqual(60);
  });

  test('R-213: have the scope `read` if the request names none', async () => {
    const { scope } = await obtainToken({ issuer, client: agent, user: 'alice' });
    expect(scope).toBe('read');
  });

  test('are for the MCP server that the client names', async () => {
    const { accessToken } = await obtainToken({ issuer, client: agent, user: 'alice', resource: otherMcp });
    expect(await introspect(issuer, accessToken)).toMatchObject({ aud: otherMcp });
  });

  test('can be for an MCP server that is added later', async () => {
    const late = 'http://127.0.0.1:45678/mcp';
    const wish = { issuer, client: agent, user: 'alice', resource: late };
    await expect(obtainToken(wish)).rejects.toThrow('invalid_target');
    server.addMcpResource(late);
    const { accessToken } = await obtainToken(wish);
    expect(await introspect(issuer, accessToken)).toMatchObject({ aud: late });
  });

  test.each([apiAudience, `${apiAudience}/`, 'https://unknown.example/', `${mcpResource}/`])(
    'do not come from a request of an agent for %s',
    async (resource) => {
      await expect(obtainToken({ issuer, client: agent, user: 'alice', resource })).rejects.toThrow('invalid_target');
    },
  );
});

describe('tokens for the demo API', () => {
  test('R-196: are RS256 at+jwt with scope, risk and sub, for the trusted client', async () => {
    const { accessToken } = await obtainToken({ issuer, client: demoApiClient, user: 'bob', resource: apiAudience });
    const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/v2/jwks`));
    const { payload, protectedHeader } = await jwtVerify(accessToken, keys, {
      issuer,
      audience: apiAudience,
      typ: 'at+jwt',
      algorithms: ['RS256'],
    });
    expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toMatchObject({
      aud: apiAudience,
      sub: 'bob',
      scope: 'read',
      client_id: 'demo-api-client',
      risk: 72,
      role: 'trader',
      tenant: 'acme',
      country: 'NO',
      ai_agent: false,
    });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(900);
  });

  test('have the configured audience, also for an indicator with the slash that `URL` adds', async () => {
    const resource = new URL(apiAudience).href;
    const { accessToken } = await obtainToken({ issuer, resource, client: demoApiClient, user: 'alice' });
    expect(decodeJwt(accessToken).aud).toBe(apiAudience);
  });

  test('have the claims of an account that a test adds', async () => {
    const { accessToken } = await obtainToken({ issuer, client: demoApiClient, user: 'erin', resource: apiAudience });
    expect(decodeJwt(accessToken)).toMatchObject({ sub: 'erin', risk: '12', realm_access: { roles: ['trader'] } });
  });

  test('are renewed silently for the trusted client, but not with a high privilege', async () => {
    const wish = { issuer, client: demoApiClient, user: 'alice', resource: apiAudience };
    const { refreshToken } = await obtainToken(wish);
    const renewed = await refresh(issuer, demoApiClient, refreshToken ?? '');
    expect(decodeJwt(renewed.accessToken)).toMatchObject({ sub: 'alice', aud: apiAudience, scope: 'read' });
    expect(await obtainToken({ ...wish, scope: 'read payments' })).not.toHaveProperty('refreshToken');
  });
});

describe('introspection, RFC 7662', () => {
  test('accepts the gateway’s secret in the body too', async () => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    const credential = { client_id: 'gateway', client_secret: 'gateway-secret' };
    expect(await post(issuer, 'oauth-introspect', { token, ...credential })).toMatchObject({ body: { active: true } });
  });

  test.each([
    ['a client without credentials', {}, undefined, 400, 'invalid_request'],
    ['a wrong secret', {}, `Basic ${btoa('gateway:guess')}`, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'x', client_secret: 'y' }, undefined, 401, 'invalid_client'],
  ])('is refused to %s', async (_who, credential, authorization, status, error) => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    const answer = await post(issuer, 'oauth-introspect', { token, ...credential }, authorization);
    expect(answer).toMatchObject({ status, body: { error } });
  });

  test('refuses clients that are not resource servers, even for their own token', async () => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    const credential = { client_id: agent.clientId, client_secret: agent.clientSecret ?? '' };
    const { body } = await post(issuer, 'oauth-introspect', { token, ...credential });
    expect(body).toEqual({ active: false });
  });

  test('reports an unknown token as inactive', async () => {
    expect(await introspect(issuer, 'x'.repeat(43))).toEqual({ active: false });
  });

  test('answers with a signed JWT on request, RFC 9701', async () => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    const response = await fetch(`${issuer}/oauth/v2/oauth-introspect`, {
      method: 'POST',
      headers: { authorization: asGateway, accept: 'application/token-introspection+jwt' },
      body: new URLSearchParams({ token }),
    });
    expect(response.headers.get('content-type')).toContain('application/token-introspection+jwt');
    const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/v2/jwks`));
    const { payload } = await jwtVerify(await response.text(), keys, { issuer, typ: 'token-introspection+jwt' });
    expect(payload.token_introspection).toMatchObject({ active: true, sub: 'alice', aud: mcpResource });
  });

  test('reports an expired token as inactive', async () => {
    const shortLived = await start({ accessTokenTtl: 1 });
    const client = await registerClient(shortLived.issuer);
    const { accessToken } = await obtainToken({ client, issuer: shortLived.issuer, user: 'alice' });
    await expect.poll(() => introspect(shortLived.issuer, accessToken)).toEqual({ active: false });
    await shortLived.close();
  });
});

describe('the end of a token', () => {
  test('comes with revocation by its own client, RFC 7009', async () => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    const credential = { client_id: agent.clientId, client_secret: agent.clientSecret ?? '' };
    expect(await post(issuer, 'oauth-revoke', { token, ...credential })).toEqual({ status: 200, body: {} });
    expect(await introspect(issuer, token)).toEqual({ active: false });
  });

  test('does not affect the refresh token and the user’s other tokens', async () => {
    const wish = { issuer, client: demoApiClient, user: 'alice', browser: createBrowser() };
    const first = await obtainToken(wish);
    const second = await obtainToken({ ...wish, scope: 'read write' });
    const credential = { client_id: 'demo-api-client', client_secret: 'demo-api-secret' };
    await post(issuer, 'oauth-revoke', { token: first.accessToken, ...credential });
    expect(await introspect(issuer, first.accessToken)).toEqual({ active: false });
    expect(await introspect(issuer, second.accessToken)).toMatchObject({ active: true });
    const renewed = await refresh(issuer, demoApiClient, first.refreshToken ?? '');
    expect(await introspect(issuer, renewed.accessToken)).toMatchObject({ active: true, aud: mcpResource });
  });

  test('cannot be caused by another client', async () => {
    const { accessToken: token } = await obtainToken({ issuer, client: agent, user: 'alice' });
    await post(issuer, 'oauth-revoke', { token }, asGateway);
    expect(await introspect(issuer, token)).toMatchObject({ active: true });
  });

  test('comes with signing out', async () => {
    const browser = createBrowser();
    const { accessToken } = await obtainToken({ issuer, browser, client: agent, user: 'alice' });
    const nowhere = new URL('about:blank');
    const page = await browser.open(new URL(`${issuer}/oauth/v2/sign-out`), nowhere);
    if (page instanceof URL) throw new Error('no page');
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    const form = new URLSearchParams({ xsrf, logout: 'yes' });
    await browser.open(new URL(`${issuer}/oauth/v2/sign-out/confirm`), nowhere, form);
    expect(await introspect(issuer, accessToken)).toEqual({ active: false });
    await obtainToken({ issuer, browser, client: agent, user: 'bob' });
    expect(browser.pages).toEqual(['Sign in', 'Allow access', 'Sign out', 'Signed out', 'Sign in', 'Allow access']);
  });
});
