import { beforeEach, describe, expect, test } from 'vitest';
import { bearer } from '../../support/bearer.ts';
import { outcomeOf } from '../../support/denial.ts';
import { serverOf } from '../../support/server.ts';
import { cacheKey, purposeOf } from '../../../src/capabilities/exchange/credential.ts';
import { createCredentialSources } from '../../../src/capabilities/exchange/credential-source.ts';
import type { CredentialSource } from '../../../src/core/model/gate.ts';
import type { Grant } from '../../../src/core/model/grant.ts';
import type { TokenExchange } from '../../../src/capabilities/exchange/slot.ts';
import { credentialOf, exchangeWith, grantFor, issued, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import type { KeptAnswer, SharedAnswers } from '../../../src/ports/shared.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import { callerKey } from '../../../src/core/model/caller-key.ts';
import type { AuthorizationServerClient } from '../../../src/ports/authorization-server-client.ts';

const world = startBeforeEach(startTokenEndpointWorld);

describe('RFC 8693 §2.1 — the request', () => {
  test('has these parameters', async () => {
    const exchange = world.route({ resource: ['https://api.example/r'], tokenType: 'jwt' });
    world.answer = () => issued('new', { issued_token_type: 'urn:ietf:params:oauth:token-type:jwt' });
    await expect(credentialOf(exchange, 't')).resolves.toBe('Bearer new');
    expect(Object.fromEntries(world.calls()[0] ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 't',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      audience: 'https://api.example',
      resource: 'https://api.example/r',
      scope: 'read list',
    });
  });

  test('repeats the parameter for each audience and resource', async () => {
    await credentialOf(world.route({ audience: ['a', 'b'], resource: ['https://x/', 'https://y/'] }), 't');
    expect(world.calls()[0]?.getAll('audience')).toEqual(['a', 'b']);
    expect(world.calls()[0]?.getAll('resource')).toEqual(['https://x/', 'https://y/']);
  });

  test('leaves out parameters that are not configured', async () => {
    await credentialOf(world.route({ audience: [], scope: [] }), 't');
    expect([...(world.calls()[0]?.keys() ?? [])].toSorted()).toEqual([
      'grant_type',
      'requested_token_type',
      'subject_token',
      'subject_token_type',
    ]);
  });
});

describe('the cache', () => {
  test('a hundred simultaneous callers get one call and one token each', async () => {
    const exchange = world.route();
    const tokens = Array.from({ length: 300 }, (_, i) => `t${i % 100}`);
    const got = await Promise.all(tokens.map((token) => credentialOf(exchange, token)));
    expect(got).toEqual(tokens.map((token) => `Bearer for-${token}`));
    expect(world.calls().length).toBe(100);
  });

  test('returns a cached credential synchronously', async () => {
    const exchange = world.route();
    await credentialOf(exchange, 't');
    expect(exchange.obtain(grantFor({}), bearer('t'))).toBe('Bearer for-t');
    expect(world.lookups).toEqual(['exchange miss', 'exchange hit']);
  });

  test.each([
    ['until shortly before it expires', 54_000, undefined],
    ['no longer than its subject token', 5_000, 5],
  ])('keeps a credential %s', async (_title, keptMs, seconds) => {
    const exchange = world.route();
    const principal = { expiresAt: seconds && world.now / 1000 + seconds };
    await credentialOf(exchange, 't', principal);
    world.now += keptMs - 1;
    await credentialOf(exchange, 't', principal);
    expect(world.calls().length).toBe(1);
    world.now += 1;
    await credentialOf(exchange, 't', principal);
    expect(world.calls().length).toBe(2);
  });

  test('gives a token without an expiry to the waiting callers only', async () => {
    world.answer = (form) => issued(`for-${form.get('subject_token')}`, { expires_in: undefined });
    const exchange = world.route();
    await Promise.all([1, 2, 3].map(() => credentialOf(exchange, 't')));
    expect(world.calls().length).toBe(1);
    await credentialOf(exchange, 't');
    expect(world.calls().length).toBe(2);
  });

  test('is shared by routes with equal settings, and by no others', async () => {
    const settings = [{}, {}, { scope: ['read'] }, { audience: ['b'] }, { endpoint: `${world.issuer.url}/token` }];
    for (const otherwise of settings) await credentialOf(world.route(otherwise), 't');
    expect(world.calls().length).toBe(4);
  });

  test('tells equal tokens of two issuers apart', async () => {
    const exchange = world.route();
    for (const issuer of ['https://a.example', 'https://b.example']) await credentialOf(exchange, 't', { issuer });
    expect(world.calls().length).toBe(2);
  });

  test('does not keep an outage', async () => {
    const { answer } = world;
    world.answer = () => ({ status: 500, body: {} });
    const exchange = world.route();
    expect(await outcomeOf(credentialOf(exchange, 't'))).toBe('authorization_server.unavailable');
    world.answer = answer;
    expect(await credentialOf(exchange, 't')).toBe('Bearer for-t');
  });
});

describe('a credential that the upstream answers with 401', () => {
  test('is replaced for the next call, after a cool-down', async () => {
    const exchange = world.route();
    const grant = grantFor({});
    const call = async (): Promise<unknown> => exchange.obtain(grant, bearer('t'));
    await call();
    exchange.onUnauthorized?.(grant);
    await call();
    expect(world.calls().length).toBe(1);
    world.now += 5_000;
    exchange.onUnauthorized?.(grant);
    await call();
    exchange.onUnauthorized?.(grant);
    await call();
    expect(world.calls().length).toBe(2);
  });

  test('of one caller does not affect the credential of another', async () => {
    const exchange = world.route();
    const grant = grantFor({});
    await exchange.obtain(grant, bearer('t'));
    await credentialOf(exchange, 'u');
    world.now += 5_000;
    exchange.onUnauthorized?.(grant);
    exchange.onUnauthorized?.(grantFor({}));
    await credentialOf(exchange, 'u');
    expect(world.calls().length).toBe(2);
  });
});

test('a credential without a token or a caller is a bug', () => {
  expect(() => world.route().obtain({} as Grant, bearer('t'))).toThrow(TypeError);
  expect(() => world.route().obtain(grantFor({}), undefined)).toThrow(TypeError);
});

test.each<[string, Partial<TokenExchange>]>([
  ['the endpoint', { endpoint: 'https://as.example/other' }],
  ['our client', { credentials: { clientId: 'other', clientSecret: 's', clientAuth: 'client_secret_post' } }],
  ['audience', { audience: ['b'] }],
  ['an audience more', { audience: ['a', 'b'] }],
  ['the same as resource', { audience: [], resource: ['a'] }],
  ['scope', { scope: ['write'] }],
  ['two scopes that look like one', { scope: ['read4:', 'read'] }],
  ['the type of the subject token', { subjectTokenType: 'jwt' }],
  ['the type asked for', { tokenType: 'jwt' }],
  ['the actor', { actor: 'client_credentials' }],
  ['the server', { server: serverOf({ url: 'https://other.example' }) }],
])('%s makes another purpose', (_, otherwise) => {
  const plain = exchangeWith({ audience: ['a'] });
  expect(purposeOf({ ...plain, ...otherwise })).not.toBe(purposeOf(plain));
});

test('another token, issuer or purpose gives another key, which reveals none of them', () => {
  const keys = [
    cacheKey('p', 't', 'i'),
    cacheKey('p', 'u', 'i'),
    cacheKey('p', 't', 'j'),
    cacheKey('q', 't', 'i'),
    cacheKey('p', '', 'it'),
    cacheKey('p', '1:t', 'i'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/);
});

const invalid = { reason: 'exchange.invalid' };

describe('refuses an answer that repeats a token of the request', () => {
  test('the subject token: the upstream could use it at the gateway as the client', async () => {
    world.answer = (form) => issued(form.get('subject_token') ?? '');
    const exchange = world.route();
    for (const _ of [1, 2]) await expect(credentialOf(exchange, 't')).rejects.toMatchObject(invalid);
    expect(world.calls()).toHaveLength(1);
  });

  test('the actor token: the upstream could act as the gateway', async () => {
    world.answer = (form) => issued(form.get('actor_token') ?? 'own');
    await expect(credentialOf(world.route({ actor: 'client_credentials' }), 't')).rejects.toMatchObject(invalid);
  });

  test('accepts a token that differs by one character', async () => {
    world.answer = (form) => issued(`${form.get('subject_token')}=`);
    await expect(credentialOf(world.route(), 't')).resolves.toBe('Bearer t=');
  });
});

describe('the credentials that replicas share', () => {
  let kept: Map<string, KeptAnswer>;
  const answers: SharedAnswers = {
    get: async (_kind, key) => kept.get(key),
    set: (_kind, key, answer, expiresAt) => void kept.set(key, { answer, expiresAt }),
    delete: (_kind, key) => void kept.delete(key),
  };
  const replica = (): CredentialSource => {
    const exchange = exchangeWith({ server: world.client.server });
    const sourceOf = createCredentialSources(
      () => {},
      () => world.now,
      answers,
    );
    return world.create({ kind: 'exchange', exchange }, { sourceOf });
  };
  beforeEach(() => {
    kept = new Map();
  });

  test('include what an exchange gave, until the upstream refuses it', async () => {
    const [one, grant] = [replica(), grantFor({})];
    await one.obtain(grant, bearer('t'));
    expect(await credentialOf(replica(), 't')).toBe('Bearer for-t');
    expect(world.calls()).toHaveLength(1);
    one.onUnauthorized?.(grant);
    expect(kept.size).toBe(1);
    world.now += 5_000;
    one.onUnauthorized?.(grant);
    expect(kept.size).toBe(0);
  });

  test.for([null, 'Bearer x', {}, { value: 'Bearer x' }, { value: 0, obtainedAt: 0 }])(
    'do not include what is no credential: %j',
    async (answer) => {
      await credentialOf(replica(), 't');
      for (const [key, { expiresAt }] of kept) kept.set(key, { answer, expiresAt });
      expect(await credentialOf(replica(), 't')).toBe('Bearer for-t');
      expect(world.calls()).toHaveLength(2);
    },
  );
});

test('checks an entry of another replica as well', async () => {
  const kept = { answer: { value: 'Bearer t', obtainedAt: Date.now() }, expiresAt: Date.now() + 60_000 };
  const answers: SharedAnswers = { get: async () => kept, set: () => {}, delete: () => {} };
  const exchange = exchangeWith({ server: world.client.server });
  const sourceOf = createCredentialSources(() => {}, Date.now, answers);
  const source = world.create({ kind: 'exchange', exchange }, { sourceOf });
  for (const _ of [1, 2]) await expect(credentialOf(source, 't')).rejects.toMatchObject(invalid);
});

describe('token: phantom', () => {
  const phantom = (token: string, principal?: Partial<Principal>): Promise<unknown> =>
    credentialOf(world.create({ kind: 'phantom' }), token, principal);

  test('sends the signed introspection answer, never the client’s token', async () => {
    await expect(phantom('opaque', { introspectionJwt: 'a.b.c' })).resolves.toBe('Bearer a.b.c');
    await expect(phantom('a.b.c', { introspectionJwt: 'a.b.c' })).rejects.toMatchObject(invalid);
  });

  test('sends nothing for an answer that was not signed and without a caller: both are bugs', async () => {
    await expect(phantom('x.y.z')).rejects.toThrow(TypeError);
    expect(() => world.create({ kind: 'phantom' }).obtain({} as Grant, bearer('x.y.z'))).toThrow(TypeError);
  });
});

test('calls the token endpoint on behalf of the caller, so that callers share its places fairly', async () => {
  const askers: unknown[] = [];
  const exchange = exchangeWith({ endpoint: 'https://as.example/token', scope: [] });
  const client: Partial<AuthorizationServerClient> = {
    async post(_operation, _url, form, _credentials, options) {
      askers.push(options?.onBehalfOf);
      return { status: 200, mediaType: 'application/json', text: '', ...issued(`for-${form.get('subject_token')}`) };
    },
  };
  const source = world.create({ kind: 'exchange', exchange }, { client: client as AuthorizationServerClient });
  const ask = async (subject: string | undefined, clientId: string | undefined): Promise<unknown> => {
    const identity = { issuer: 'https://as.example', subject, clientId };
    const principal: Partial<Principal> = { ...identity, callerKey: callerKey(identity) };
    await credentialOf(source, `t${askers.length}`, principal);
    return askers.at(-1);
  };

  const alice = await ask('alice', 'app');
  expect(await ask('alice', 'other')).toBe(alice);
  const others = [await ask('bob', 'app'), await ask(undefined, 'alice'), await ask(undefined, undefined)];
  expect(new Set([alice, ...others]).size).toBe(4);
});
