import { expect, test } from 'vitest';
import {
  createIntrospector,
  type Introspected,
  type IntrospectionOutcome,
  type Introspector,
  createMaySee,
  introspectAtEach,
  shortestReuse,
  type TokenAuthority,
} from '../../src/tokens/introspection.ts';
import type { KeySource } from '../../src/tokens/keys.ts';
import type { Introspection } from '../../src/core/model/authorization-server.ts';
import type { AuthorizationServerClient, ServerAnswer } from '../../src/ports/authorization-server-client.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import { Denial } from '../../src/core/model/denial.ts';
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

const known = { principal: {}, reusableUntil: 5 } as Introspected;
const away = new Denial('authorization_server.unavailable', 'away');
const refusal = new Denial('token.claims', 'sub is not a string');

/** A server that says this of every token; undefined: it knows none. */
function saying(name: string, answer: Introspected | Error | undefined, cacheMs = 30_000): TokenAuthority {
  const say =
    (how: string) =>
    (token: string, onBehalfOf?: string): Promise<IntrospectionOutcome> => {
      asked.push(`${name} ${how} ${token} ${onBehalfOf}`);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? { principal: undefined });
    };
  return { cacheMs, maySee: () => true, introspect: { known: say('known'), afresh: say('afresh') } };
}

const silent: TokenAuthority = { cacheMs: 0, maySee: () => true, introspect: undefined };

async function ask(authorities: readonly TokenAuthority[], by: keyof Introspector = 'known'): Promise<unknown> {
  asked = [];
  return introspectAtEach('t', authorities, by, '192.0.2.1');
}

test('asks each server in turn, on behalf of the caller, until one knows the token', async () => {
  expect(await ask([silent, saying('a', undefined), saying('b', known), saying('c', known)])).toBe(known);
  expect(asked).toEqual(['a known t 192.0.2.1', 'b known t 192.0.2.1']);
  await ask([saying('a', known)], 'afresh');
  expect(asked).toEqual(['a afresh t 192.0.2.1']);
});

test('refuses a token that no server knows', async () => {
  const inactive = { reason: 'token.inactive', detail: 'no trusted authorization server reports it as active' };
  await expect(ask([saying('a', undefined), silent, saying('b', undefined)])).rejects.toMatchObject(inactive);
  await expect(ask([])).rejects.toMatchObject(inactive);
});

test('stops at the first refusal and at a bug', async () => {
  await expect(ask([saying('a', undefined), saying('b', refusal), saying('c', known)])).rejects.toBe(refusal);
  const bug = new TypeError('ours');
  await expect(ask([saying('a', bug), saying('b', known)])).rejects.toBe(bug);
});

test('while one server is unavailable, the others can accept but not refuse a token', async () => {
  expect(await ask([saying('a', away), saying('b', known)])).toBe(known);
  await expect(ask([saying('a', away), saying('b', undefined)])).rejects.toBe(away);
  await expect(ask([saying('a', away), saying('b', refusal)])).rejects.toBe(refusal);
});

test('caches a refusal for the shortest time that the asked servers allow', () => {
  expect(shortestReuse([saying('a', undefined, 9), silent, saying('b', undefined, 7)])).toBe(7);
});

test.for<[isShown: boolean, token: string, prefix: string | undefined, why: string]>([
  [true, 'one_t', 'one_', 'its prefix'],
  [false, 'two_t', 'one_', 'the prefix of another server'],
  [false, 't', 'one_', 'no prefix'],
  [false, 't_one_', 'one_', 'its prefix at the end'],
  [true, 't', undefined, 'no prefix'],
  [true, 't_one_', undefined, 'the prefix of another server at the end'],
  [false, 'one_t', undefined, 'the prefix of another server'],
  [false, 'two_t', undefined, 'the prefix of a third server'],
])('shows (%s) the opaque token %s to a server with the prefix %s: it has %s', ([isShown, token, prefix]) => {
  expect(createMaySee(prefix, ['one_', 'two_'])(token)).toBe(isShown);
});
