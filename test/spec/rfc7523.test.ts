import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { jwtVerify, type JWTPayload } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const world = startBeforeAll(() =>
  startWorld({
    server:
      'introspection: { client_id: gateway, client_auth: private_key_jwt, client_key: "${env:KEY}", client_key_id: k7, cache: 0s }',
    routes: [
      'name: api, path: /, audience: a, upstream: { url: "UPSTREAM", token: exchange, exchange: { audience: b } }',
    ],
    env: () => ({ KEY: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string }),
  }),
);
beforeAll(async () => {
  world.issuer.answerAt('/token', (_request, response) => {
    const issued = { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer' };
    const granted = { access_token: 'exchanged', ...issued, expires_in: 1 };
    sendJson(response, 200, granted);
  });
});

/** The forms that one call makes the authorization server see: of the introspection, and of the exchange. */
async function formsOfOneCall(): Promise<readonly URLSearchParams[]> {
  const { introspection, requests } = world.issuer;
  const before = requests.length;
  const token = randomUUID();
  introspection.set(token, { active: true, sub: 'alice', aud: 'a' });
  expect(await world.send('/', { token })).toMatchObject({ status: 200 });
  const posts = requests.slice(before).filter(({ body }) => body !== '');
  expect(posts.map(({ path, authorization }) => [path, authorization])).toEqual([
    ['/introspect', undefined],
    ['/token', undefined],
  ]);
  return posts.map(({ body }) => new URLSearchParams(body));
}

async function verified(form: URLSearchParams): Promise<JWTPayload> {
  const { payload, protectedHeader } = await jwtVerify(form.get('client_assertion') ?? '', publicKey);
  expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'k7' });
  return payload;
}

test('R-60, RFC 7523 §2.2: authenticates everywhere with a client_assertion in place of a secret', async () => {
  for (const form of await formsOfOneCall()) {
    expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    expect(form.get('client_assertion')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(form.get('client_id')).toBe('gateway');
    expect(form.has('client_secret')).toBe(false);
  }
});

test('R-61, RFC 7523 §3: signs the client_id as iss and sub, the issuer alone as aud, and a near exp', async () => {
  const before = Math.floor(Date.now() / 1000);
  for (const form of await formsOfOneCall()) {
    const { iss, sub, aud, exp = 0, iat = 0 } = await verified(form);
    expect([iss, sub, aud]).toEqual(['gateway', 'gateway', world.issuer.url]);
    expect(exp - iat).toBe(60);
    expect(before <= iat && iat <= Date.now() / 1000, `issued at ${iat}`).toBe(true);
  }
});

test('R-61, RFC 7523 §3: signs a new jti for each request', async () => {
  const forms = [...(await formsOfOneCall()), ...(await formsOfOneCall())];
  const ids = await Promise.all(forms.map(async (form) => (await verified(form)).jti));
  expect(new Set(ids).size).toBe(4);
  expect(ids).not.toContain(undefined);
});

test('R-62, RFC 7523 §3.2: answers 503 when the server refuses the assertion', async () => {
  const { intercept } = world.issuer;
  world.issuer.answerAt(
    '/introspect',
    (_request, response) =>
      void response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}'),
  );
  expect(await world.send('/', { token: randomUUID() })).toMatchObject({ status: 503 });
  world.issuer.intercept = intercept;
});
