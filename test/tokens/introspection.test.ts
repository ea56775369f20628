import { expect, test } from 'vitest';
import { createIntrospector } from '../../src/tokens/introspection.ts';
import type { KeySource } from '../../src/tokens/keys.ts';
import type { Introspection } from '../../src/core/model/authorization-server.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../src/ports/authorization-server-client.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import type { SharedAnswers } from '../../src/ports/shared.ts';

const endpoint = 'https://as.example/introspect?tenant=secret';
const credentials = { clientId: 'gateway', clientAuth: 'client_secret_basic', clientSecret: 's' } as const;
const signed = { kind: 'jwt', algorithms: ['ES256'] } as const;
const unavailable = 'authorization_server.unavailable';

let asked: unknown[] = [];
/** What replicas share of the answers. */
let shared: unknown[] = [];

/** What comes of an answer of the server, asked for a caller. */
async function introspect(
  answer: Partial<ServerAnswer>,
  response: Introspection['response'] = { kind: 'json' },
  cacheMs = 0,
): Promise<Principal | undefined> {
  const introspection: Introspection = {
    credentials,
    response,
    prefix: undefined,
    endpoint,
    cacheMs,
    audience: 'optional',
  };
  const client = {
    server: { name: 'main', issuer: 'https://as.example', clockToleranceMs: 0, introspection },
    post: (operation: string, url: string, form: URLSearchParams, by: unknown, options: unknown) => {
      asked = [operation, url, Object.fromEntries(form), by, options];
      return Promise.resolve({ status: 200, mediaType: 'application/json', text: '', body: undefined, ...answer });
    },
  } as unknown as AuthorizationServerClient;
  shared = [];
  const answers: SharedAnswers = {
    get: async () => undefined,
    set: (_kind, _key, kept) => shared.push(kept),
    delete() {},
  };
  const introspector = createIntrospector(client, {} as KeySource, new Map(), Date.now, answers);
  return (await introspector.known('t', '192.0.2.1'))?.principal;
}

const form = { token: 't', token_type_hint: 'access_token' };

test('RFC 7662 §2.1 — posts the token on behalf of its caller and accepts JSON', async () => {
  await introspect({ body: { active: false } });
  const options = { accept: 'application/json', onBehalfOf: '192.0.2.1' };
  expect(asked).toEqual(['introspection', endpoint, form, credentials, options]);
});

test('RFC 9701 §4 — asks for signed answers, and for no JSON, where they are required', async () => {
  await introspect({ status: 204 }, signed);
  expect(asked.at(-1)).toMatchObject({ accept: 'application/token-introspection+jwt, application/jwt;q=0.9' });
});

test('keeps the text of an answer only where JavaScript would change a number of it', async () => {
  const text = '{"active":true,"account":9007199254740993}';
  const principal = await introspect({ body: JSON.parse(text) as unknown, text }, { kind: 'json' }, 1000);
  expect(JSON.stringify(principal?.exactClaims)).toContain('"account":9007199254740993');
  expect(shared).toEqual([{ claims: JSON.parse(text) as unknown, text }]);
  const body = { active: true, account: 5 };
  await introspect({ body, text: JSON.stringify(body) }, { kind: 'json' }, 1000);
  expect(shared).toEqual([{ claims: body }]);
});

test.for<[active: unknown, isActive: boolean]>([
  [true, true],
  [false, false],
  ['true', false],
  [1, false],
  [null, false],
  [undefined, false],
])('RFC 7662 §2.2 — active: %j is active: %s', async ([active, isActive]) => {
  const principal = await introspect({ body: { active } });
  expect(principal !== undefined).toBe(isActive);
});

test.for([undefined, null, [], [{ active: true }], 'active', true])('refuses %j as an answer', async (body) => {
  await expect(introspect({ body })).rejects.toMatchObject({
    reason: unavailable,
    detail: 'main: its introspection did not answer with a JSON object',
  });
});

test.for([201, 204, 301, 400, 401, 404, 500])('RFC 7662 §2.3 — status %d does not refuse the token', async (status) => {
  await expect(introspect({ status, body: { active: true } })).rejects.toMatchObject({
    reason: unavailable,
    detail: `main: https://as.example/introspect?… answered ${status}; check introspection.client_id and its secret or key`,
  });
});

test('reads only status 204 as an inactive token in place of a phantom token', async () => {
  await expect(introspect({ status: 204 }, signed)).resolves.toBeUndefined();
  await expect(introspect({ status: 202, body: { active: false } }, signed)).rejects.toMatchObject({
    reason: unavailable,
  });
});
