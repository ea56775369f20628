import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Authority,
  CachedVerifier,
  createMaySee,
  introspectAtEach,
  tokenKey,
} from '../../src/tokens/cached-verifier.ts';
import type { Introspected, IntrospectionOutcome, Introspector } from '../../src/tokens/introspection.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { RefusedToken } from '../../src/core/model/grant.ts';
import type { Failures } from '../../src/ports/shared.ts';
import type { Principal, TokenForm } from '../../src/core/model/principal.ts';
import { bearer } from '../support/bearer.ts';

const issuer = 'https://as.example';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/** What looks like a JWT of an issuer: whether it is one is for its verifier to say. */
const jwtOf = (iss?: string): string => [part({ alg: 'ES256' }), part({ iss }), 'AA'].join('.');
const jwt = jwtOf(issuer);

let now: number;
let generation: number;
let holds: boolean;
let asked: string[];
let lookups: string[];
let told: RefusedToken[];
let guarded: unknown[];
/** What is said of a token; an Error: it is refused so. */
let say: (token: string) => Principal | Error;
let verifier: CachedVerifier;

const principal = (subject: string, expiresAt?: number): Principal => ({ subject, expiresAt }) as Principal;
const unlimited: Failures = {
  guard(question, work) {
    guarded.push(question);
    return work();
  },
};
const inactive = new Denial('token.inactive', 'unknown');
const away = new Denial('authorization_server.unavailable', 'away');

beforeEach(() => {
  now = 1_800_000_000_000;
  generation = 3;
  holds = true;
  [asked, lookups, told, guarded] = [[], [], [], []];
  say = (token) => principal(token);
  verifier = create(authorityOf(issuer));
});

function authorityOf(of: string, otherwise: Partial<Authority> = {}): Authority {
  const answer = async (how: string, token: string): Promise<Principal> => {
    asked.push(`${how} ${token}`);
    await setImmediate();
    const said = say(token);
    if (said instanceof Error) throw said;
    return said;
  };
  const introspect = (how: string) => async (token: string, onBehalfOf?: string) => ({
    principal: await answer(`${how} for ${onBehalfOf}:`, token),
    reusableUntil: now + 10_000,
  });
  return {
    issuer: of,
    issuers: [of],
    keys: {
      get generation() {
        return generation;
      },
      holds: (of: number) => holds && of === generation,
    },
    cacheMs: 30_000,
    maySee: () => true,
    verify: (token: string) => answer(of === issuer ? 'verify' : `verify by ${of}`, token),
    introspect: { known: introspect('known'), afresh: introspect('afresh') },
    ...otherwise,
  } as unknown as Authority;
}

function create(...authorities: readonly Authority[]): CachedVerifier {
  return createOf(['jwt', 'opaque'], authorities);
}

function createOf(forms: readonly TokenForm[], authorities: readonly Authority[]): CachedVerifier {
  return new CachedVerifier(
    authorities,
    new Set(forms),
    (kind, result) => lookups.push(`${kind} ${result}`),
    (refused) => told.push(refused),
    () => now,
  );
}

const call = { client: '192.0.2.1' } as Call;
const authenticate = async (token: string, failures = unlimited): Promise<Principal> =>
  verifier.authenticate(bearer(token), call, failures);

describe('the validation of a token', () => {
  const other = 'https://other.example';

  test('uses only the issuer of a JWT', async () => {
    verifier = create(authorityOf(other), authorityOf(issuer));
    await authenticate(jwt);
    await authenticate(jwtOf(other));
    expect(asked).toEqual([`verify ${jwt}`, `verify by ${other} ${jwtOf(other)}`]);
    for (const iss of ['https://evil.example', `${issuer}/`, undefined]) {
      const detail = `${iss === undefined ? 'the token has no iss' : `iss is ${JSON.stringify(iss)}`}; accepted: "${other}", "${issuer}"`;
      await expect(authenticate(jwtOf(iss))).rejects.toMatchObject({ reason: 'token.issuer', detail });
    }
    expect(asked).toHaveLength(2);
  });

  test('introspects a JWT at its issuer if no jwt is configured', async () => {
    verifier = create(authorityOf(other), authorityOf(issuer, { verify: undefined }));
    await authenticate(jwt);
    expect(asked).toEqual([`known for 192.0.2.1: ${jwt}`]);
  });

  test('introspects an opaque token only at the servers that its prefix allows', async () => {
    const maySee = (token: string): boolean => token.startsWith('bank_');
    verifier = create(authorityOf(other, { maySee: () => false }), authorityOf(issuer, { maySee }));
    await authenticate('bank_t');
    const detail = expect.stringContaining('introspection.prefix') as string;
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.issuer', detail });
    expect(asked).toEqual(['known for 192.0.2.1: bank_t']);
    expect(guarded).toMatchObject([{ servers: issuer }]);
  });

  test.for<[form: TokenForm, token: string, without: Partial<Authority>, detail: string]>([
    ['jwt', 't', {}, 'the route accepts JWTs only (tokens), and this is none'],
    ['opaque', jwt, {}, 'the route accepts opaque tokens only'],
    [
      'jwt',
      't',
      { introspect: undefined },
      'the route does not accept opaque tokens: none of its authorization servers has introspection',
    ],
    ['opaque', jwt, { verify: undefined }, 'the route does not accept JWTs: none of its authorization servers has jwt'],
  ])('calls no server where only %s is accepted, and names the setting', async ([form, token, without, detail]) => {
    const unable = authorityOf('https://unable.example', { introspect: undefined, verify: undefined });
    verifier = createOf([form], [authorityOf(issuer, without), unable]);
    await expect(authenticate(token)).rejects.toMatchObject({ reason: 'token.form', detail });
    expect(asked).toEqual([]);
  });
});

test('an encrypted token is refused with its remedy, where opaque tokens are not accepted', async () => {
  verifier = createOf(['jwt'], [authorityOf(issuer)]);
  await expect(authenticate(`${part({ enc: 'A256GCM' })}.a.b.c.d`)).rejects.toMatchObject({
    reason: 'token.form',
    detail:
      'the token is encrypted (a JWE of five parts), which only its addressee can read: the client must name the API ' +
      'when it asks for a token, by resource or audience',
  });
});

describe('the limit of failures', () => {
  test('does not apply to a JWT that the gateway verifies, valid or not', async () => {
    await authenticate(jwt);
    say = () => new Denial('token.signature', 'bad');
    await expect(authenticate(`${jwt}A`)).rejects.toMatchObject({ reason: 'token.signature' });
    expect(guarded).toEqual([]);
  });

  test('does not apply to a token that is refused without a call', async () => {
    await expect(authenticate(jwtOf('https://evil.example'))).rejects.toMatchObject({ reason: 'token.issuer' });
    verifier = createOf(['jwt'], [authorityOf(issuer)]);
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.form' });
    expect(guarded).toEqual([]);
  });

  test('does not apply to a token that no server introspects', async () => {
    verifier = create(authorityOf(issuer, { introspect: undefined }));
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(guarded).toEqual([]);
  });

  test('applies to a JWT that its issuer introspects', async () => {
    verifier = create(authorityOf(issuer, { verify: undefined }));
    await authenticate(jwt);
    expect(guarded).toMatchObject([{ servers: issuer }]);
  });
});

describe('a verified JWT', () => {
  test('is cached until it expires', async () => {
    say = () => principal('alice', now / 1000 + 60);
    await authenticate(jwt);
    now += 59_999;
    expect(verifier.authenticate(bearer(jwt), call, unlimited)).toMatchObject({ subject: 'alice' });
    expect(asked).toHaveLength(1);
    say = () => new Denial('token.expired', 'over');
    now += 1;
    await expect(authenticate(jwt)).rejects.toMatchObject({ reason: 'token.expired' });
    expect(lookups).toEqual(['token miss', 'token hit', 'token miss']);
  });

  test('is cached without exp too', async () => {
    await authenticate(jwt);
    now += 1e12;
    await authenticate(jwt);
    expect(asked).toEqual([`verify ${jwt}`]);
  });

  test('is verified again after a key was withdrawn, and with stale keys', async () => {
    await authenticate(jwt);
    generation += 1;
    await authenticate(jwt);
    expect(asked).toHaveLength(2);
    holds = false;
    await authenticate(jwt);
    expect(asked).toHaveLength(3);
  });

  test('is verified again if a key was withdrawn during the verification', async () => {
    const first = authenticate(jwt);
    generation += 1;
    await first;
    await authenticate(jwt);
    expect(asked).toHaveLength(2);
  });
});

describe('an opaque token', () => {
  test('is introspected on behalf of its caller, whatever the keys', async () => {
    holds = false;
    await authenticate('t');
    await authenticate('t');
    expect(asked).toEqual(['known for 192.0.2.1: t']);
    now += 10_000;
    await authenticate('t');
    expect(asked).toHaveLength(2);
  });

  test('counts by the address, the servers and the hash of the token', async () => {
    const key = tokenKey(bearer('t'));
    const other = authorityOf('https://other.example');
    verifier = create(authorityOf(issuer), other);
    await authenticate('t');
    expect(guarded).toEqual([{ call, servers: `${issuer} https://other.example`, token: key }]);
    await authenticate('t');
    expect(guarded).toHaveLength(1);
  });

  test('is refused again from the cache, without the limit', async () => {
    say = () => inactive;
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(told).toEqual([
      { key: tokenKey(bearer('t')), issuers: [issuer], reason: 'token.inactive', isMadeUp: false },
    ]);
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(asked).toHaveLength(1);
    expect(guarded).toHaveLength(1);
    expect(lookups).toEqual(['token miss', 'token negative']);
  });

  test.for([
    [30_000, 5_000],
    [2_000, 2_000],
  ])(
    'that was refused is not asked about for as long as a good one, %d, and five seconds at most',
    async ([cacheMs = 0, ms = 0]) => {
      verifier = create(authorityOf(issuer, { cacheMs }));
      say = () => inactive;
      for (const later of [0, ms - 1, 1]) {
        now += later;
        await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive', detail: 'unknown' });
      }
      expect(asked).toHaveLength(2);
    },
  );

  test('that was refused is asked about again after the shortest reuse that the asked servers allow', async () => {
    const silent = authorityOf('https://silent.example', { cacheMs: 0, introspect: undefined });
    const other = authorityOf('https://other.example', { cacheMs: 2_000 });
    verifier = create(silent, authorityOf(issuer, { cacheMs: 3_000 }), other);
    say = () => inactive;
    for (const [later, times] of [
      [0, 1],
      [1_999, 1],
      [1, 2],
    ] as const) {
      now += later;
      await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
      expect(asked).toHaveLength(times);
    }
  });

  test.for([away, new Denial('failures.exceeded', 'slow down'), new TypeError('ours')])(
    'about which nothing was said is asked about again: %s',
    async (error) => {
      say = () => error;
      await expect(authenticate('t')).rejects.toBe(error);
      await expect(authenticate('t')).rejects.toBe(error);
      expect(asked).toHaveLength(2);
      expect(told).toEqual([]);
    },
  );

  test('is not introspected again if it was refused while the caller waited', async () => {
    say = () => inactive;
    const { promise: place, resolve: leave } = Promise.withResolvers<void>();
    const waiting: Failures = { guard: (_question, work) => place.then(work) };
    const second = authenticate('t', waiting);
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    leave();
    await expect(second).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(asked).toHaveLength(1);
  });

  test('is not introspected again if it was accepted while the caller waited', async () => {
    const { promise: place, resolve: leave } = Promise.withResolvers<void>();
    const second = authenticate('t', { guard: (_question, work) => place.then(work) });
    await authenticate('t');
    leave();
    await expect(second).resolves.toMatchObject({ subject: 't' });
    expect(asked).toHaveLength(1);
  });
});

describe('the memory of valid tokens', () => {
  const MIB = 1024 * 1024;
  const padding = 'A'.repeat(30 * MIB);
  const kept = async (tokens: readonly string[]): Promise<readonly boolean[]> => {
    const before = lookups.length;
    for (const token of tokens) await authenticate(token);
    return lookups.slice(before).map((lookup) => lookup === 'token hit');
  };

  test('holds 64 MiB of JWTs, of which the least recently used are evicted', async () => {
    const tokens = ['B', 'C', 'D'].map((each) => jwt + each + padding);
    await kept(tokens);
    expect(await kept(tokens.toReversed())).toEqual([true, true, false]);
  });

  test('holds 64 MiB of introspection answers, with the signed ones', async () => {
    say = (token) =>
      ({ claims: { long: padding }, introspectionJwt: token === 'b' ? padding : undefined }) as unknown as Principal;
    await kept(['a', 'b']);
    expect(await kept(['b', 'a'])).toEqual([true, false]);
  });

  test('keeps no answer that is nested too deeply to be measured', async () => {
    const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
    say = () => ({ claims: { deep } }) as unknown as Principal;
    expect(await kept(['a', 'a'])).toEqual([false, false]);
  });
});

describe('revalidation', () => {
  test('gives each token its own answer, for its own caller', async () => {
    const both = await Promise.all([
      verifier.revalidate(bearer('one'), '192.0.2.1'),
      verifier.revalidate(bearer('two')),
      verifier.revalidate(bearer('two')),
    ]);
    expect(both.map(({ subject }) => subject)).toEqual(['one', 'two', 'two']);
    expect(asked).toEqual(['afresh for 192.0.2.1: one', 'afresh for undefined: two']);
  });

  test('shares no call with callers that may use the cache', async () => {
    await Promise.all([authenticate('t'), verifier.revalidate(bearer('t'))]);
    expect(asked).toEqual(['known for 192.0.2.1: t', 'afresh for undefined: t']);
  });

  test('forgets a cached refusal, whatever its outcome', async () => {
    say = () => inactive;
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    say = () => away;
    await expect(verifier.revalidate(bearer('t'))).rejects.toBe(away);
    await expect(authenticate('t')).rejects.toBe(away);
  });

  test.for<[what: string, error: Error, heard: readonly Omit<RefusedToken, 'key'>[]]>([
    [
      'its issuer refuses a JWT',
      new Denial('token.key', 'withdrawn'),
      [{ issuers: [issuer], reason: 'token.key', isMadeUp: true }],
    ],
    [
      'a bug says nothing of its issuer',
      new TypeError('ours'),
      [{ issuers: [], reason: 'gateway.error', isMadeUp: false }],
    ],
    ['a server that is away refuses nothing', away, []],
  ])('reports to all caches: %s', async ([, error, heard]) => {
    say = () => error;
    await expect(verifier.revalidate(bearer(jwt))).rejects.toBe(error);
    expect(told).toEqual(heard.map((refused) => ({ key: tokenKey(bearer(jwt)), ...refused })));
  });

  test('validates an evicted token at its next use, and no other', async () => {
    for (const token of ['t', 'u', 'v']) await authenticate(token);
    verifier.evict(tokenKey(bearer('t')));
    const evicted = verifier.evictWhere(({ subject }) => subject === 'u');
    expect(evicted).toEqual([{ key: tokenKey(bearer('u')), issuer: undefined }]);
    for (const token of ['t', 'u', 'v']) await authenticate(token);
    expect(asked.slice(3)).toEqual(['known for 192.0.2.1: t', 'known for 192.0.2.1: u']);
  });
});

describe('introspection at several servers', () => {
  type IntrospectingServer = { readonly introspect: Introspector };

  const known = { principal: {}, reusableUntil: 5 } as Introspected;
  const refusal = new Denial('token.claims', 'sub is not a string');

  /** A server that says this of every token; undefined: it knows none. */
  function saying(name: string, answer: Introspected | Error | undefined): IntrospectingServer {
    const say =
      (how: string) =>
      (token: string, onBehalfOf?: string): Promise<IntrospectionOutcome> => {
        asked.push(`${name} ${how} ${token} ${onBehalfOf}`);
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? { principal: undefined });
      };
    return { introspect: { known: say('known'), afresh: say('afresh') } };
  }

  async function ask(servers: readonly IntrospectingServer[], by: keyof Introspector = 'known'): Promise<unknown> {
    asked = [];
    return introspectAtEach('t', servers, by, '192.0.2.1');
  }

  test('asks each server in turn, on behalf of the caller, until one knows the token', async () => {
    expect(await ask([saying('a', undefined), saying('b', known), saying('c', known)])).toBe(known);
    expect(asked).toEqual(['a known t 192.0.2.1', 'b known t 192.0.2.1']);
    await ask([saying('a', known)], 'afresh');
    expect(asked).toEqual(['a afresh t 192.0.2.1']);
  });

  test('refuses a token that no server knows', async () => {
    const inactive = { reason: 'token.inactive', detail: 'no trusted authorization server reports it as active' };
    await expect(ask([saying('a', undefined), saying('b', undefined)])).rejects.toMatchObject(inactive);
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
