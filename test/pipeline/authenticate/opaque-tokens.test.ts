/** Opaque tokens of a real authorization server, through a whole gateway that was configured by files. */

import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import type { JWK } from 'oidc-provider';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { startUpstream } from '../../support/upstream.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed: generateKeyPairSync('ed25519'),
};
const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }) as string;
const jwk = (key: KeyObject, members: object = {}): JWK => ({ ...key.export({ format: 'jwk' }), ...members });

function keyed(id: string, key: KeyObject, signedAnswers?: 'RS256' | 'ES256') {
  return {
    client_id: id,
    token_endpoint_auth_method: 'private_key_jwt' as const,
    jwks: { keys: [jwk(key, { kid: 'k1' })] },
    ...(signedAnswers !== undefined && { introspection_signed_response_alg: signedAnswers }),
  };
}

const provider = startBeforeAll(() =>
  startOidcProvider([
    keyed('gateway', keys.rsa.publicKey, 'ES256'),
    keyed('gateway-ec', keys.ec.publicKey),
    keyed('gateway-ed', keys.ed.publicKey),
    { client_id: 'gateway-secret', client_secret: 'a-secret-of-the-tests' },
  ]),
);
const upstream = startBeforeAll(startUpstream);
const gateway = startBeforeAll(() =>
  gatewayWith('client_id: gateway, client_auth: private_key_jwt, client_key: "${env:RSA}"', {
    algorithms: 'ES256',
  }),
);

function gatewayWith(
  credentials: string,
  signed?: { readonly algorithms: string },
  clock?: Clock,
): Promise<TestGateway> {
  const response = signed === undefined ? '' : `, response: jwt, algorithms: [${signed.algorithms}]`;
  return startTestGateway({
    ...(clock && { clock }),
    yaml: `
limits: { failures: { requests: 10000, per: 1s } }
authorization_servers:
  main: { issuer: "${provider.issuer}", introspection: { ${credentials}${response} } }
routes:
  - name: api
    path: /
    audience: https://api.example
    upstream: { url: "${upstream.url}", identity: { x-auth-client: client_id }, token: ${signed === undefined ? 'none' : 'phantom'} }
`,
    env: {
      RSA: pem(keys.rsa.privateKey),
      EC: JSON.stringify(jwk(keys.ec.privateKey, { kid: 'k1' })),
      ED: pem(keys.ed.privateKey),
    },
  });
}

function send(token: string, { url } = gateway): Promise<Response> {
  return fetch(`${url}/x`, { headers: { authorization: `Bearer ${token}` } });
}

test('a phantom token reaches the upstream as the server signed it', async () => {
  const token = await provider.token('https://api.example');
  expect((await send(token)).status).toBe(200);
  const { authorization = '', 'x-auth-client': client } = upstream.seen.at(-1)?.headers ?? {};
  expect(client).toBe('app');
  expect(authorization).not.toContain(token);
  const published = (await (await fetch(`${provider.issuer}/jwks`)).json()) as JSONWebKeySet;
  const { payload } = await jwtVerify(authorization.slice('Bearer '.length), createLocalJWKSet(published), {
    issuer: provider.issuer,
    audience: 'gateway',
    typ: 'token-introspection+jwt',
    algorithms: ['ES256'],
  });
  expect(payload['token_introspection']).toMatchObject({
    active: true,
    aud: 'https://api.example',
    client_id: 'app',
    scope: 'read',
  });
});

test.each([
  ['ES256, a JWK', 'client_id: gateway-ec, client_auth: private_key_jwt, client_key: "${env:EC}"'],
  ['EdDSA', 'client_id: gateway-ed, client_auth: private_key_jwt, client_key: "${env:ED}", client_key_id: k1'],
])('private_key_jwt at a real server: %s', async (_title, credentials) => {
  const other = await gatewayWith(credentials);
  expect((await send(await provider.token('https://api.example'), other)).status).toBe(200);
  expect((await send('made-up', other)).status).toBe(401);
  await other.close();
});

test('R-155: a hundred parallel first requests cause one call to the server, with a valid or invalid token', async () => {
  // What is refused is remembered for five seconds; a busy machine takes longer to answer all.
  const now = Date.now();
  const still = await gatewayWith(
    'client_id: gateway-secret, client_secret: a-secret-of-the-tests',
    undefined,
    () => now,
  );
  const good = await provider.token('https://api.example');
  for (const [token, status] of [
    [good, 200],
    ['unknown-token', 401],
  ] as const) {
    const before = provider.introspections();
    const responses = await Promise.all(Array.from({ length: 100 }, () => send(token, still)));
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([status]));
    await Promise.all(responses.map((response) => response.arrayBuffer()));
    expect(provider.introspections()).toBe(before + 1);
  }
  const before = provider.introspections();
  expect((await send('unknown-token', still)).status).toBe(401);
  expect(await still.metrics()).toMatch(/sallyport_token_cache_total\{kind="token",result="negative"\} \d/);
  expect(provider.introspections()).toBe(before);
  await still.close();
});
