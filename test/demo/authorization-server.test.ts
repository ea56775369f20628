import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';

import { createBrowser, signIn } from '../../demo/browser.ts';
import {
  demoApiClient,
  obtainToken,
  refresh,
  registerClient,
  type OAuthClient,
  type TokenWish,
} from '../../demo/obtain-token.ts';
import {
  apiAudience,
  asGateway,
  introspect,
  mcpResource,
  post,
  register,
  start,
  type Answer,
} from './authorization-server-requests.ts';
import { startBeforeAll } from '../support/start-before.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const documentsAt = 'https://agent.example/oauth/';
const redirectUri = 'http://127.0.0.1:7777/callback';

let issuer: string;
let agent: OAuthClient;
/** The documents that the server has fetched. */
const fetched: string[] = [];

const server = startBeforeAll(() =>
  start({
    clientDocuments: [documentsAt],
    // The site of an agent. It asks for more than it gets.
    fetchClientDocument: async (input) => {
      const url = input instanceof Request ? input.url : String(input);
      fetched.push(url);
      const uri = url.endsWith('evil.json') ? 'http://evil.example/' : redirectUri;
      const asked = { grant_types: ['authorization_code', 'refresh_token'], scope: 'admin' };
      const document = { client_id: url, client_name: 'A site', redirect_uris: [uri], ...asked };
      return Response.json({ ...document, token_endpoint_auth_method: 'none' });
    },
    extraClients: [
      {
        client_id: 'other',
        client_secret: 'other-secret',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
  }),
);
beforeAll(async () => {
  ({ issuer } = server);
  agent = await registerClient(issuer);
});

/** A token of alice for the agent, unless the wish differs. */
const tokenFor = (wish: Partial<TokenWish> = {}) => obtainToken({ issuer, client: agent, user: 'alice', ...wish });
const secretOf = ({ clientId, clientSecret = '' }: OAuthClient) => ({
  client_id: clientId,
  client_secret: clientSecret,
});

/** The claims of a JWT for the API. */
async function verified(token: string): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/v2/jwks`));
  const required = { issuer, audience: apiAudience, typ: 'at+jwt', algorithms: ['RS256'] };
  return (await jwtVerify(token, keys, required)).payload;
}

function run(env: Record<string, string>): ChildProcess {
  const own = { PATH: process.env.PATH ?? '', ...env };
  return spawn(process.execPath, ['demo/authorization-server.ts'], { env: own, stdio: ['ignore', 'pipe', 'pipe'] });
}

test('R-181: as a process, prints one line at the start, uses the issuer of the environment, and stops quickly at SIGTERM', async () => {
  const child = run({ PORT: '0', ISSUER: 'https://login.example' });
  const [line] = await once(child.stdout!, 'data');
  const url = /^authorization server listens at (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(String(line))?.[1] ?? '';
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
  const response = await fetch(`${url}/.well-known/oauth-authorization-server`, { headers });
  expect(await response.json()).toMatchObject({
    issuer: 'https://login.example',
    token_endpoint: 'https://login.example/oauth/v2/oauth-token',
  });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test.each(['oauth-authorization-server', 'openid-configuration'])('R-182: serves metadata at %s', async (name) => {
  const response = await fetch(`${issuer}/.well-known/${name}`);
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
  expect(await response.json()).toMatchObject({
    issuer,
    registration_endpoint: `${issuer}/oauth/v2/oauth-registration`,
    authorization_endpoint: `${issuer}/oauth/v2/oauth-authorize`,
    token_endpoint: `${issuer}/oauth/v2/oauth-token`,
    introspection_endpoint: `${issuer}/oauth/v2/oauth-introspect`,
    revocation_endpoint: `${issuer}/oauth/v2/oauth-revoke`,
    jwks_uri: `${issuer}/oauth/v2/jwks`,
    code_challenge_methods_supported: ['S256'],
    response_types_supported: ['code'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
    client_id_metadata_document_supported: true,
  });
});

describe('R-183: dynamic client registration', () => {
  const modest = {
    client_name: 'Agent',
    grant_types: ['authorization_code'],
    redirect_uris: [redirectUri],
    response_types: ['code'],
    scope: 'read',
    token_endpoint_auth_method: 'client_secret_post',
  };
  const dictated = {
    client_secret_expires_at: 0,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    post_logout_redirect_uris: [],
    scope: 'openid read write payments',
    token_endpoint_auth_method: 'client_secret_post',
    token_endpoint_auth_methods: ['client_secret_post'],
    access_token_ttl: 900,
    require_proof_key: true,
    requires_consent: true,
    default_acr_values: ['urn:sallyport:demo:acr:password'],
    subject_type: 'public',
  };

  test('R-184, R-211, R-212: returns every setting that it applies', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { body, status } = await register(issuer, modest);
    expect({ status, ...body }).toMatchObject({ status: 201, ...dictated, redirect_uris: modest.redirect_uris });
    const members = { client_id: expect.any(String), client_secret: expect.any(String), client_name: 'Agent' };
    expect(body).toMatchObject(members);
    expect(body.client_id_issued_at).toBeGreaterThanOrEqual(before);
  });

  test.each([
    [{ grant_types: ['client_credentials', 'implicit', 'refresh_token'], response_types: ['token'] }],
    [{ scope: 'read admin everything' }],
    [{ token_endpoint_auth_method: 'none' }],
    [{ grant_types: undefined, response_types: undefined, scope: undefined }],
  ])('R-185: dictates the settings of a client that asks for %j', async (wish) => {
    const { body, status } = await register(issuer, { ...modest, ...wish });
    expect({ status, ...body }).toMatchObject({ status: 201, ...dictated });
    expect(Object.keys(body).filter((name) => /^(?:jwks_uri|sector_identifier_uri)$/.test(name))).toEqual([]);
  });

  test('R-186: gives each client its own identifier and secret, and lets no client choose them', async () => {
    const chosen = { client_id: 'gateway', client_secret: 'mine' };
    const bodies = await Promise.all(
      [1, 2, 3].map(async () => (await register(issuer, { ...modest, ...chosen })).body),
    );
    expect(new Set([...bodies.map((body) => body.client_id), 'gateway'])).toHaveProperty('size', 4);
    expect(new Set([...bodies.map((body) => body.client_secret), 'mine'])).toHaveProperty('size', 4);
  });

  test.each([
    [201, ['https://agent.example/callback', 'http://localhost:1234/callback', 'http://[::1]:1/callback']],
    [400, ['http://agent.example/callback']],
    [400, ['http://127.0.0.1.evil.example/callback']],
    [400, undefined],
  ])('answers %i to the redirect URIs %j', async (status, uris) => {
    const answer = await register(issuer, { ...modest, redirect_uris: uris });
    const body = status === 201 ? { redirect_uris: uris } : { error: 'invalid_redirect_uri' };
    expect(answer).toMatchObject({ status, body });
  });
});

describe('R-188: client metadata documents', () => {
  const withDocument = (clientId: string, uri = redirectUri) => ({ client: { clientId, redirectUri: uri } });

  test('define a client without registration, under the same policy', async () => {
    const [browser, of] = [createBrowser(), withDocument(`${documentsAt}client.json`)];
    const tokens = await tokenFor({ browser, ...of, scope: 'read' });
    expect(tokens).toEqual({ accessToken: expect.any(String), expiresIn: 900, scope: 'read', tokenType: 'Bearer' });
    expect(browser.pages).toEqual(['Sign in', 'Allow access']);
    const claims = { client_id: of.client.clientId, ai_agent: true };
    expect(await introspect(issuer, tokens.accessToken)).toMatchObject(claims);
    await expect(tokenFor({ ...of, scope: 'admin' })).rejects.toThrow('invalid_scope');
  });

  test('are fetched only from the allow list, and refused with an unsafe redirect URI', async () => {
    const elsewhere = 'https://other.example/client.json';
    await expect(tokenFor(withDocument(elsewhere))).rejects.toThrow('fetch not allowed');
    expect(fetched).not.toContain(elsewhere);
    const evil = withDocument(`${documentsAt}evil.json`, 'http://evil.example/');
    await expect(tokenFor(evil)).rejects.toThrow('redirect');
  });
});

describe('a sign-in', () => {
  function authorizationUrl(changes: Record<string, string | undefined> = {}): URL {
    const parameters = {
      response_type: 'code',
      client_id: agent.clientId,
      redirect_uri: agent.redirectUri,
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
  const answerTo = async (changes: Record<string, string | undefined>) =>
    Object.fromEntries((await signIn({ authorizationUrl: authorizationUrl(changes), user: 'alice' })).searchParams);

  test.each([
    ['an agent', {}],
    ['a trusted client', { client_id: 'demo-api-client' }],
  ])('R-189: requires PKCE of %s', async (_who, changes) => {
    const answer = await answerTo({ ...changes, code_challenge: undefined, code_challenge_method: undefined });
    expect(answer).toMatchObject({ error: 'invalid_request' });
  });

  test('R-190: shows login and consent; then the client gets a code, its state and the issuer (RFC 9207)', async () => {
    const browser = createBrowser();
    const answer = await signIn({ authorizationUrl: authorizationUrl(), user: 'alice', browser });
    expect(browser.pages).toEqual(['Sign in', 'Allow access']);
    const parameters = { code: expect.any(String), state: 'from-the-client', iss: issuer };
    expect(Object.fromEntries(answer.searchParams)).toEqual(parameters);
  });

  test('R-187, R-191: asks an agent again each time, for a step-up only for consent; a trusted client only once', async () => {
    const [browser, trusted] = [createBrowser(), createBrowser()];
    for (const scope of ['read', 'read']) await tokenFor({ browser, scope });
    expect(await tokenFor({ browser, scope: 'read payments' })).toMatchObject({
      expiresIn: 60,
      scope: 'read payments',
    });
    expect(browser.pages).toEqual(['Sign in', 'Allow access', 'Allow access', 'Allow access']);
    for (const client of [demoApiClient, demoApiClient]) await tokenFor({ browser: trusted, client });
    expect(trusted.pages).toEqual(['Sign in', 'Allow access']);
  });
});

describe('tokens for the MCP server', () => {
  test('R-193, R-194: are opaque, for 900 seconds, with user, client, audience and the mark of an AI agent', async () => {
    const tokens = await tokenFor({ scope: 'read write', resource: mcpResource });
    const lifetime = { expiresIn: 900, scope: 'read write', tokenType: 'Bearer' };
    expect(tokens).toEqual({ accessToken: expect.stringMatching(/^[^.]+$/), ...lifetime });
    const answer = await introspect(issuer, tokens.accessToken);
    expect(answer).toMatchObject({
      active: true,
      iss: issuer,
      aud: mcpResource,
      sub: 'alice',
      client_id: agent.clientId,
      scope: 'read write',
      risk: 20,
      role: 'trader',
      tenant: 'acme',
      country: 'SE',
      ai_agent: true,
    });
    expect(Number(answer.exp) - Number(answer.iat)).toBe(900);
  });

  test('R-195: last 60 seconds with a high-privilege scope', async () => {
    const { accessToken, expiresIn } = await tokenFor({ scope: 'read payments' });
    const { exp, iat } = await introspect(issuer, accessToken);
    expect([expiresIn, Number(exp) - Number(iat)]).toEqual([60, 60]);
  });

  test('R-213: have the scope `read` if the request names none', async () => {
    expect((await tokenFor()).scope).toBe('read');
  });

  test('are for a server that is known, and never for the API', async () => {
    const late = 'http://127.0.0.1:45678/mcp';
    for (const resource of [late, apiAudience, `${apiAudience}/`, `${mcpResource}/`])
      await expect(tokenFor({ resource })).rejects.toThrow('invalid_target');
    server.addMcpResource(late);
    const { accessToken } = await tokenFor({ resource: late });
    expect(await introspect(issuer, accessToken)).toMatchObject({ aud: late });
  });
});

test('R-196: tokens for the API are RS256 at+jwt with scope, risk and sub, for the trusted client', async () => {
  // With the slash that `URL` adds.
  const resource = new URL(apiAudience).href;
  const { accessToken } = await tokenFor({ client: demoApiClient, user: 'bob', resource });
  const payload = await verified(accessToken);
  const claims = { aud: apiAudience, sub: 'bob', scope: 'read', client_id: 'demo-api-client', ai_agent: false };
  expect(payload).toMatchObject({ ...claims, risk: 72, role: 'trader', tenant: 'acme', country: 'NO' });
  expect(Number(payload.exp) - Number(payload.iat)).toBe(900);
});

test('a trusted client renews its token silently, but not with a high privilege; a revocation ends one token', async () => {
  const wish = { client: demoApiClient, browser: createBrowser() };
  const [first, second] = [await tokenFor(wish), await tokenFor({ ...wish, scope: 'read write' })];
  expect(await tokenFor({ ...wish, scope: 'read payments' })).not.toHaveProperty('refreshToken');
  const isActive = async (token: string) => (await introspect(issuer, token)).active;
  await post(issuer, 'oauth-revoke', { token: first.accessToken }, asGateway);
  expect(await isActive(first.accessToken), 'revoked by another client').toBe(true);
  await post(issuer, 'oauth-revoke', { token: first.accessToken, ...secretOf(demoApiClient) });
  expect([await isActive(first.accessToken), await isActive(second.accessToken)]).toEqual([false, true]);
  const renewed = await refresh(issuer, demoApiClient, first.refreshToken ?? '');
  expect(await introspect(issuer, renewed.accessToken)).toMatchObject({ active: true, aud: mcpResource });
});

describe('token exchange, RFC 8693', () => {
  let subjectToken: string;
  beforeAll(async () => {
    subjectToken = (await tokenFor({ scope: 'read write' })).accessToken;
  });

  /** A token of a client for itself. */
  async function ownToken(authorization = asGateway): Promise<string> {
    const { body } = await post(issuer, 'oauth-token', { grant_type: 'client_credentials' }, authorization);
    return String(body.access_token);
  }

  function exchange(changes: Record<string, string | undefined> = {}, authorization?: string): Promise<Answer> {
    const parameters = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: accessTokenType,
      audience: apiAudience,
      ...changes,
    };
    const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined);
    return post(issuer, 'oauth-token', given, 'client_id' in changes ? undefined : (authorization ?? asGateway));
  }

  test('R-197: issues a JWT for the API with the same user and claims, and names the gateway as the actor', async () => {
    const actor = { actor_token: await ownToken(), actor_token_type: accessTokenType };
    const { body, status } = await exchange({ scope: 'read', ...actor });
    expect({ status, ...body }).toEqual({
      status: 200,
      access_token: expect.any(String),
      issued_token_type: accessTokenType,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'read',
    });
    const payload = await verified(String(body.access_token));
    const claims = { sub: 'alice', client_id: 'gateway', act: { sub: 'gateway' }, scope: 'read', ai_agent: true };
    expect(payload).toMatchObject({ ...claims, risk: 20, role: 'trader', tenant: 'acme', country: 'SE' });
  });

  test('issues a token to the gateway that grants nothing', async () => {
    expect(await introspect(issuer, await ownToken())).not.toMatchObject({ aud: expect.anything() });
    for (const resource of [mcpResource, apiAudience]) {
      const form = { grant_type: 'client_credentials', resource, scope: 'read' };
      expect(await post(issuer, 'oauth-token', form, asGateway)).toMatchObject({ body: { error: 'invalid_target' } });
    }
  });

  test.each<[string, Record<string, string | undefined> | (() => Promise<Record<string, string>>), string?]>([
    ['no subject token', { subject_token: undefined }],
    ['an unknown subject token', { subject_token: 'x'.repeat(43) }],
    ['an unknown target', { audience: 'https://unknown.example' }, 'invalid_target'],
    ['a scope that the subject token lacks', { scope: 'read payments' }, 'invalid_scope'],
    [
      'the token of another client as the actor token',
      async () => ({
        actor_token: await ownToken(`Basic ${btoa('other:other-secret')}`),
        actor_token_type: accessTokenType,
      }),
    ],
    ['the agent itself, which may not have a JWT', async () => secretOf(agent)],
  ])('refuses %s', async (_case, changes, error = 'invalid_request') => {
    const answer = await exchange(typeof changes === 'function' ? await changes() : changes);
    expect(answer).toMatchObject({ status: 400, body: { error } });
  });
});
