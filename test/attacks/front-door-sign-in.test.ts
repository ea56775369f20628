/**
 * Attacks on the sign-in at the provider: an answer that belongs to another browser, another sign-in or another
 * provider, and ID tokens that are not what they say (RFC 9700 §4.4, §4.5, §4.7, OpenID Connect Core §3.1.3.7).
 *
 * @module
 */
import type { JWTPayload } from 'jose';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Browser, createBrowser } from '../../demo/browser.ts';
import { createKey } from '../support/issuer.ts';
import { type QuirkyServer, signed, startQuirkyServer } from '../support/quirky-server.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

let provider: QuirkyServer;
let client: OAuthClient;

const startProvider = () => startQuirkyServer('google', 'https://not.asked.for/');
const world = startBeforeAll(() =>
  startFrontDoorWorld({ startProvider: async () => (provider = await startProvider()) }),
);
beforeAll(async () => {
  client = await registerClient(world.issuer);
});
beforeEach(() => {
  provider.forge = undefined;
  provider.answer = undefined;
});

/** Lets a browser sign in up to the provider's answer, which it does not deliver. Returns that answer. */
async function heldAnswer(browser: Browser): Promise<URL> {
  let held: URL | undefined;
  provider.answer = (callback) => {
    held = new URL(callback);
    callback.href = 'https://nowhere.invalid/';
  };
  await client.authorize({ browser }).catch(() => undefined);
  provider.answer = undefined;
  if (held === undefined) throw new Error('the provider was not asked');
  return held;
}

/** Opens a URL, and says whether the front door went on with a sign-in. */
async function isTaken(browser: Browser, url: URL): Promise<boolean> {
  const before = world.observed.filter((line) => line === 'sign-in corporate ok').length;
  await browser.open(url, new URL(client.redirectUri));
  return world.observed.filter((line) => line === 'sign-in corporate ok').length > before;
}

describe('a client that asks for a new sign-in', () => {
  const fresh: Record<string, string>[] = [{ prompt: 'login' }, { max_age: '0' }];
  const asked = async (parameters: Record<string, string>, age: number | undefined) => {
    const authTime = age === undefined ? undefined : Math.floor(Date.now() / 1000) - age;
    provider.forge = async (claims) => signed({ ...claims, auth_time: authTime }, provider.key);
    return (await client.errorOf({ parameters: { scope: 'openid read', ...parameters } })) ?? 'ok';
  };

  test.each(fresh)('(%o) gets none that is older, or of unknown age', async (parameters) => {
    expect(await asked(parameters, 0)).toBe('ok');
    expect(provider.authorizations.at(-1)?.get('max_age')).toBe('0');
    expect(await asked(parameters, 3600)).toBe('server_error');
    expect(await asked(parameters, undefined)).toBe('server_error');
  });

  test('gets none of the future: no sign-in would ever be too old', async () => {
    expect(await asked({}, -3600)).toBe('server_error');
    expect(await asked({}, -Date.now())).toBe('server_error');
    expect(await asked({}, -5), 'a clock that is a little ahead').toBe('ok');
  });
});

describe('the answer of a provider', () => {
  test('finishes the sign-in of the browser that began it, once', async () => {
    const browser = createBrowser();
    const answer = await heldAnswer(browser);
    expect(await isTaken(browser, answer)).toBe(true);
    const exchanges = provider.exchanges.length;
    expect(await isTaken(browser, answer), 'a replay').toBe(false);
    expect(provider.exchanges, 'a replayed code is not sent on').toHaveLength(exchanges);
  });

  test('does nothing in the browser of a victim (login CSRF)', async () => {
    const answer = await heldAnswer(createBrowser());
    const exchanges = provider.exchanges.length;
    expect(await isTaken(createBrowser(), answer), 'without a sign-in').toBe(false);
    const victim = createBrowser();
    await heldAnswer(victim);
    expect(await isTaken(victim, answer), 'with a sign-in of its own under way').toBe(false);
    expect(provider.exchanges).toHaveLength(exchanges);
  });

  test('cannot carry the code of another sign-in, whichever `state` (code injection)', async () => {
    const [attacker, victim] = [createBrowser(), createBrowser()];
    const [mine, theirs] = [await heldAnswer(attacker), await heldAnswer(victim)];
    mine.searchParams.set('code', theirs.searchParams.get('code') ?? '');
    expect(await isTaken(attacker, mine)).toBe(false);
    expect(world.observed.at(-1)).toContain('sign-in corporate failed');
  });

  test('two sign-ins of one browser do not disturb each other', async () => {
    const browser = createBrowser();
    const [first, second] = [await heldAnswer(browser), await heldAnswer(browser)];
    expect(await isTaken(browser, second)).toBe(true);
    expect(await isTaken(browser, first)).toBe(true);
  });

  test.each(['absent', 'repeated', 'unknown'])('is refused with a `state` that is %s', async (how) => {
    const browser = createBrowser();
    const answer = await heldAnswer(browser);
    const state = answer.searchParams.get('state') ?? '';
    if (how === 'absent') answer.searchParams.delete('state');
    if (how === 'repeated') answer.searchParams.append('state', state);
    if (how === 'unknown') answer.searchParams.set('state', `${state}x`);
    expect(await isTaken(browser, answer)).toBe(false);
  });

  test.each([
    ['another issuer in `iss` (RFC 9207)', (answer: URL) => answer.searchParams.set('iss', 'https://evil.example')],
    ['two codes', (answer: URL) => answer.searchParams.append('code', 'another')],
    ['another provider by its callback', (answer: URL) => void (answer.pathname = '/callback/other')],
    ['a path below its callback', (answer: URL) => void (answer.pathname += '/x')],
  ])('is refused with %s', async (_what, change) => {
    const browser = createBrowser();
    const answer = await heldAnswer(browser);
    change(answer);
    expect(await isTaken(browser, answer)).toBe(false);
  });
});

test('the answer of one provider is not taken at the callback of another (mix-up)', async () => {
  let held: URL | undefined;
  let issuer = '';
  const two = await startFrontDoorWorld({
    startProvider: async () => {
      const honest = await startProvider();
      ({ issuer } = honest);
      honest.answer = (callback) => {
        held = new URL(callback);
        callback.href = 'https://nowhere.invalid/';
      };
      return honest;
    },
    providerLines: [
      '      domains: [acme.com]',
      '    evil: { issuer: "http://127.0.0.1:9", client_id: c, client_secret: secret-of-evil, domains: [evil.example] }',
    ].join('\n'),
  });
  const own = await registerClient(two.issuer);
  const browser = createBrowser();
  await own.authorize({ browser, user: 'jane@acme.com' }).catch(() => undefined);
  expect(two.provider.authorizations).toHaveLength(1);
  const answer = held ?? new URL(issuer);
  answer.pathname = '/callback/evil';
  await browser.open(answer, new URL(own.redirectUri));
  expect(two.observed.at(-1)).toMatch(/^sign-in evil refused/);
  await two.close();
});

test('an ID token that is correct signs a person in', async () => {
  provider.forge = (claims) => signed(claims, provider.key);
  expect((await client.token()).status).toBe(200);
});

function without(claims: JWTPayload, name: string): JWTPayload {
  return Object.fromEntries(Object.entries(claims).filter(([each]) => each !== name));
}

const now = (): number => Math.floor(Date.now() / 1000);
const forgeries: Record<string, (claims: JWTPayload) => JWTPayload> = {
  'whose audience is another client': (claims) => ({ ...claims, aud: 'another-client' }),
  'for several audiences, authorized for another one': (claims) => ({
    ...claims,
    aud: [provider.clientId, 'another-client'],
    azp: 'another-client',
  }),
  'of another issuer': (claims) => ({ ...claims, iss: 'https://evil.example' }),
  'with the nonce of another sign-in': (claims) => ({ ...claims, nonce: 'n'.repeat(43) }),
  'without a nonce': (claims) => without(claims, 'nonce'),
  'that has expired': (claims) => ({ ...claims, iat: now() - 7200, exp: now() - 3600 }),
  'from the future': (claims) => ({ ...claims, nbf: now() + 3600 }),
  'without a subject': (claims) => without(claims, 'sub'),
  'with an empty subject, which all people would share': (claims) => ({ ...claims, sub: '' }),
  'with a subject of 256 characters': (claims) => ({ ...claims, sub: 's'.repeat(256) }),
  'with a subject that is a number': (claims) => ({ ...claims, sub: 1 as unknown as string }),
  'with another subject than the userinfo endpoint': (claims) => ({ ...claims, sub: 'another' }),
};

describe('an ID token', () => {
  /** What a sign-in with this ID token gives the client, and why. */
  const resultOf = async (forge: (claims: JWTPayload) => Promise<string>) => {
    provider.forge = forge;
    const { callback } = await client.authorize();
    return {
      error: callback.searchParams.get('error'),
      code: callback.searchParams.get('code'),
      result: /^sign-in corporate \w+/.exec(world.observed.at(-1) ?? '')?.[0],
    };
  };
  const refused = { error: 'server_error', code: null, result: 'sign-in corporate failed' };

  test.each(Object.entries(forgeries))('%s is refused', async (_what, change) => {
    expect(await resultOf((claims) => signed(change(claims), provider.key))).toEqual(refused);
  });

  test('that another key signed is refused, also under the name of a published one', async () => {
    const other = await createKey('k1');
    expect(await resultOf((claims) => signed(claims, other))).toEqual(refused);
    expect(await resultOf((claims) => signed(claims, { ...other, kid: 'k2' }))).toEqual(refused);
  });

  test('without a signature (`alg: none`) is refused', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect(await resultOf(async (claims) => `${part({ alg: 'none' })}.${part(claims)}.`)).toEqual(refused);
    const empty = await resultOf(async (claims) => `${part({ alg: 'RS256', kid: 'k1' })}.${part(claims)}.`);
    expect(empty).toEqual(refused);
  });
});
