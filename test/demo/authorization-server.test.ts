import { request } from 'node:http';
import { json } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuthorizationServer } from '../../demo/authorization-server.ts';
import { register, start } from './authorization-server-requests.ts';

let server: AuthorizationServer;
let issuer: string;

beforeAll(async () => {
  server = await start();
  ({ issuer } = server);
});

afterAll(() => server.close());

describe('R-182: authorization server metadata', () => {
  test.each(['oauth-authorization-server', 'openid-configuration'])('is served at /.well-known/%s', async (name) => {
    const response = await fetch(`${issuer}/.well-known/${name}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
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
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      authorization_response_iss_parameter_supported: true,
    });
  });

  test('builds its URLs from the issuer, for any Host of the request', async () => {
    const other = await start({ issuer: 'https://login.example' });
    const headers = { host: 'as:9000', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const { port } = new URL(other.url);
    const metadata = await new Promise<unknown>((resolve, reject) => {
      request({ port, host: '127.0.0.1', headers, path: '/.well-known/oauth-authorization-server' }, (response) =>
        resolve(json(response)),
      )
        .on('error', reject)
        .end();
    });
    await other.close();
    expect(metadata).toMatchObject({
      issuer: 'https://login.example',
      token_endpoint: 'https://login.example/oauth/v2/oauth-token',
    });
  });

  test('publishes one RS256 key without its private part', async () => {
    const response = await fetch(`${issuer}/oauth/v2/jwks`);
    expect(await response.json()).toEqual({
      keys: [{ kty: 'RSA', alg: 'RS256', use: 'sig', kid: expect.any(String), n: expect.any(String), e: 'AQAB' }],
    });
  });

  test('does not offer client metadata documents without an allow list', async () => {
    const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    expect(await response.json()).not.toHaveProperty('client_id_metadata_document_supported');
  });
});

describe('R-183: dynamic client registration', () => {
  const modest = {
    client_name: 'Agent',
    grant_types: ['authorization_code'],
    redirect_uris: ['http://127.0.0.1:7777/callback'],
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
    const { body, status } = await register(issuer, modest);
    expect(status).toBe(201);
    expect(body).toMatchObject({ ...dictated, client_name: 'Agent', redirect_uris: modest.redirect_uris });
    expect(body).toMatchObject({ client_id: expect.any(String), client_secret: expect.any(String) });
    expect(Math.abs(Number(body.client_id_issued_at) - Date.now() / 1000)).toBeLessThan(5);
  });

  test.each([
    ['refresh tokens', { grant_types: ['authorization_code', 'refresh_token'] }],
    ['other grants and response types', { grant_types: ['client_credentials', 'implicit'], response_types: ['token'] }],
    ['no proof key and no consent', { require_proof_key: false, requires_consent: false }],
    ['a long life', { access_token_ttl: 86_400 }],
    ['more scope than dynamic clients get', { scope: 'read admin' }],
    ['an unknown scope', { scope: 'everything' }],
    ['to be public', { token_endpoint_auth_method: 'none' }],
    ['a key of its own', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://evil.example/jwks' }],
    ['pairwise subjects', { subject_type: 'pairwise', sector_identifier_uri: 'https://evil.example/sector' }],
    ['a logout redirect', { post_logout_redirect_uris: ['https://evil.example/'] }],
    ['settings of the wrong type', { grant_types: 'x', scope: 7, contacts: {}, default_acr_values: null }],
    ['almost nothing', { grant_types: undefined, response_types: undefined, scope: undefined }],
  ])('R-185: dictates the settings of a client that asks for %s', async (_wish, wish) => {
    const { body, status } = await register(issuer, { ...modest, ...wish });
    expect({ status, ...body }).toMatchObject({ status: 201, ...dictated });
    expect(body).not.toHaveProperty('jwks_uri');
    expect(body).not.toHaveProperty('sector_identifier_uri');
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
    [['https://agent.example/callback']],
    [['http://localhost:1234/callback']],
    [['http://[::1]:1234/callback', 'http://127.0.0.1/callback']],
    [['https://agent.example/callback', 'http://127.0.0.1/callback']],
  ])('accepts the redirect URIs %j', async (uris) => {
    expect(await register(issuer, { ...modest, redirect_uris: uris })).toMatchObject({
      status: 201,
      body: { redirect_uris: uris },
    });
  });

  test.each([
    [['http://agent.example/callback']],
    [['http://127.0.0.1.evil.example/callback']],
    [['cursor://callback']],
    [['https://agent.example/callback', 'javascript:alert(1)']],
    [['https://agent.example/#fragment']],
    [[]],
    [undefined],
  ])('refuses the redirect URIs %j', async (uris) => {
    const { body, status } = await register(issuer, { ...modest, redirect_uris: uris });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_redirect_uri' });
  });

  test('accepts registrations from a page of another origin', async () => {
    const response = await fetch(`${issuer}/oauth/v2/oauth-registration`, {
      method: 'OPTIONS',
      headers: { origin: 'https://inspector.example', 'access-control-request-method': 'POST' },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-headers')).toContain('content-type');
  });
});

test('answers the health check of a container', async () => {
  expect((await fetch(`${issuer}/healthz`)).status).toBe(200);
});
