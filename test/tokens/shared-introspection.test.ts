import { beforeEach, describe, expect, test } from 'vitest';
import type { IntrospectionAnswer } from '../../src/tokens/introspection-answer.ts';
import { createSharedIntrospection, type Introspector } from '../../src/tokens/introspection.ts';
import type { Introspection } from '../../src/core/model/authorization-server.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { serverOf } from '../support/server.ts';
import type { KeptAnswer, SharedAnswers } from '../../src/ports/shared.ts';

const ended = (): number => now / 1000 - 6;
let now: number;
let kept: Map<string, KeptAnswer>;
/** What the server says; each question takes one. */
let says: (IntrospectionAnswer | undefined | Denial)[];

const answers: SharedAnswers = {
  get: async (kind, key) => kept.get(`${kind} ${key}`),
  set: (kind, key, answer, expiresAt) =>
    void kept.set(`${kind} ${key}`, { answer: JSON.parse(JSON.stringify(answer)), expiresAt }),
  delete: (kind, key) => void kept.delete(`${kind} ${key}`),
};

beforeEach(() => {
  now = 1_700_000_000_000;
  kept = new Map();
  says = [];
});

async function ask(): Promise<IntrospectionAnswer | undefined> {
  if (says.length === 0) throw new Error('asked once more');
  const said = says.shift();
  if (said instanceof Denial) throw said;
  return said;
}

function serverWith(otherwise: Partial<Introspection> = {}, issuer = 'https://as.example') {
  const { introspection, ...server } = serverOf({ url: issuer });
  return { ...server, introspection: { ...(introspection as Introspection), ...otherwise } };
}

const introspector = (...server: Parameters<typeof serverWith>): Introspector =>
  createSharedIntrospection(serverWith(...server), ask, new Map(), answers, () => now);

const active = (claims: object = {}): IntrospectionAnswer => ({
  claims: { active: true, sub: 'alice', aud: 'r', ...claims },
});

describe('an answer of a server', () => {
  test('to another replica is used until it expires there', async () => {
    says = [active()];
    const first = await introspector().known('token');
    expect(first).toMatchObject({ reusableUntil: now + 30_000 });
    now += 20_000;
    expect(await introspector().known('token')).toEqual(first);
    expect(await introspector({ cacheMs: 5000 }).known('token')).toMatchObject({ reusableUntil: now + 5000 });
  });

  test('ends with the token', async () => {
    says = [active({ exp: now / 1000 + 10 })];
    expect(await introspector().known('token')).toMatchObject({ reusableUntil: now + 10_000 });
    expect([...kept.values()].map(({ expiresAt }) => expiresAt)).toEqual([now + 10_000]);
  });

  test('keeps its signature', async () => {
    says = [{ ...active(), jwt: 'a.b.c' }];
    const signed = { response: { kind: 'jwt', algorithms: ['RS256'] } } as const;
    await introspector(signed).known('token');
    expect((await introspector(signed).known('token')).principal?.introspectionJwt).toBe('a.b.c');
  });

  test('without a signature is ignored if a signature is required', async () => {
    const signed = { response: { kind: 'jwt', algorithms: ['RS256'] } } as const;
    says = [active(), { ...active({ sub: 'bob' }), jwt: 'a.b.c' }];
    await introspector(signed).known('token');
    expect((await introspector(signed).known('token')).principal?.subject).toBe('bob');
  });

  test('is stored under the SHA-256 of the token', async () => {
    says = [active()];
    await introspector().known('abc');
    expect([...kept.keys()]).toEqual([
      'introspection 18:https://as.example7:gateway4:json43:ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0',
    ]);
  });

  test.for<readonly [of: string, create: () => Introspector, token: string]>([
    ['of another token', () => introspector(), 'other'],
    ['by another server', () => introspector({}, 'https://other.example'), 'token'],
    [
      'to another client',
      () => introspector({ credentials: { clientId: 'b', clientAuth: 'client_secret_basic', clientSecret: 's' } }),
      'token',
    ],
    ['in another form', () => introspector({ response: { kind: 'jwt', algorithms: ['RS256'] } }), 'token'],
  ])('%s is not it', async ([_of, create, token]) => {
    says = [active(), active({ sub: 'bob' })];
    await introspector().known('token');
    expect((await create().known(token)).principal?.subject).toBe('bob');
  });

  test('is requested again if the stored answer is unusable', async () => {
    const wrong: unknown[] = [
      active({ exp: ended() }),
      active({ iss: 'https://other.example' }),
      active({ aud: undefined }),
      active({ token_type: 'refresh_token' }),
      { claims: 'none' },
      { claims: null },
      { ...active(), jwt: 5 },
      {},
      null,
      'text',
    ];
    for (const answer of wrong) {
      says = [active()];
      await introspector().known('token');
      for (const [key] of kept) kept.set(key, { answer: JSON.parse(JSON.stringify(answer)), expiresAt: now + 9000 });
      says = [active({ sub: 'bob' })];
      expect((await introspector().known('token')).principal?.subject).toBe('bob');
      kept.clear();
    }
  });

  test('is not stored if the token is inactive, and deleted once it is inactive', async () => {
    says = [undefined];
    expect(await introspector().known('token')).toStrictEqual({ principal: undefined });
    expect(kept.size).toBe(0);

    for (const no of [undefined, active({ exp: ended() }), new Denial('token.claims', '')]) {
      says = [active(), no];
      await introspector().known('token');
      expect(kept.size).toBe(1);
      await introspector()
        .afresh('token')
        .catch(() => {});
      expect(kept.size).toBe(0);
    }
  });

  test('stays while the server is unavailable', async () => {
    says = [active(), new Denial('authorization_server.unavailable', '')];
    await introspector().known('token');
    await expect(introspector().afresh('token')).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
    expect(kept.size).toBe(1);
  });

  test('is requested past the store on revalidation, and stored again', async () => {
    says = [active(), active({ sub: 'bob' })];
    await introspector().known('token');
    expect((await introspector().afresh('token')).principal?.subject).toBe('bob');
    expect((await introspector().known('token')).principal?.subject).toBe('bob');
  });

  test('is not shared with `cache: 0s`', async () => {
    says = [active(), active()];
    await introspector({ cacheMs: 0 }).known('token');
    expect(kept.size).toBe(0);
    await introspector().known('token');
    says = [active({ sub: 'bob' })];
    expect((await introspector({ cacheMs: 0 }).known('token')).principal?.subject).toBe('bob');
  });
});

test('a replica without a store asks the server itself', async () => {
  const alone = createSharedIntrospection(serverWith(), ask, new Map(), undefined, () => now);
  says = [active(), undefined, active({ exp: ended() })];
  expect((await alone.known('token')).principal?.subject).toBe('alice');
  expect(await alone.known('token')).toEqual({ principal: undefined });
  await expect(alone.known('token')).rejects.toMatchObject({ reason: 'token.expired' });
});
