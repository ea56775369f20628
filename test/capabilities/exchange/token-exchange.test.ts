import { beforeEach, describe, expect, test } from 'vitest';
import { Denial } from '../../../src/core/model/denial.ts';
import type { TokenForm, Principal } from '../../../src/core/model/principal.ts';
import { credentialOf, startTokenEndpointWorld, issued } from '../../worlds/token-endpoint.ts';
import { outcomeOf } from '../../support/denial.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import type { Plan } from '../../../src/core/model/policy.ts';

const world = startBeforeEach(startTokenEndpointWorld);
/** The credential, or the reason of the refusal. */
const outcome = (...call: Parameters<typeof credentialOf>): Promise<unknown> => outcomeOf(credentialOf(...call));
/** What comes of one token after another. */
async function outcomes(exchange: ReturnType<typeof world.route>, ...tokens: readonly string[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const token of tokens) found.push(await outcome(exchange, token));
  return found;
}

describe('a refusal', () => {
  test('is cached for five seconds, for this token only', async () => {
    const { answer } = world;
    world.refuseWith('invalid_target');
    const exchange = world.route();
    await expect(credentialOf(exchange, 't')).rejects.toMatchObject({
      reason: 'exchange.refused',
      detail: 'the exchange was refused with 400 invalid_target',
    });
    await outcomes(exchange, 't', 't');
    expect(world.calls().length).toBe(1);
    world.answer = answer;
    expect(await outcome(exchange, 'u')).toBe('Bearer for-u');
    world.now += 4_999;
    expect(await outcome(exchange, 't')).toBe('exchange.refused');
    world.now += 1;
    expect(await outcome(exchange, 't')).toBe('Bearer for-t');
  });

  test.each<[reason: string, status: number, body: unknown]>([
    ['exchange.refused', 400, { error: 'invalid_target' }],
    ['exchange.refused', 401, { error: 'invalid_client' }],
    ['exchange.refused', 400, { error: 'unauthorized_client' }],
    ['exchange.refused', 400, { error: 'unsupported_grant_type' }],
    ['exchange.refused', 400, { error: 'a_code_of_its_own' }],
    ['exchange.refused', 400, { error: 5 }],
    ['exchange.refused', 400, 'no JSON'],
    ['exchange.refused', 404, {}],
    ['exchange.invalid', 200, 'no JSON'],
    ['authorization_server.unavailable', 429, {}],
    ['authorization_server.unavailable', 500, {}],
    ['authorization_server.unavailable', 503, {}],
  ])('%s: %d %j', async (reason, status, body) => {
    world.answer = () => ({ status, body });
    expect(await outcome(world.route(), 't')).toBe(reason);
    expect(world.revalidated).toEqual([]);
  });

  test('shows the error code and no other text of the server', async () => {
    world.answer = () => ({ status: 400, body: { error: 'subject_token=t0ken', error_description: 't0ken' } });
    await expect(credentialOf(world.route(), 't0ken')).rejects.toMatchObject({
      detail: 'the exchange was refused with 400 without an error code',
    });
  });

  test('names the setting that replaces a missing token endpoint', async () => {
    world.issuer.intercept = (request, response) => {
      if (request.url?.startsWith('/.well-known/') !== true) return false;
      response.end(JSON.stringify({ issuer: world.issuer.url, jwks_uri: `${world.issuer.url}/jwks` }));
      return true;
    };
    expect(await outcome(world.route(), 't')).toBe('exchange.refused');
  });
});

describe.each(['invalid_request', 'invalid_grant'])('%s, RFC 8693 §2.2.2 and RFC 6749 §5.2', (refusal) => {
  beforeEach(() => world.refuseWith(refusal));

  test.each([
    ['is exchange.refused if the token is still valid', 'exchange.refused', undefined],
    ['refuses the token if its own server does', 'token.inactive', 'token.inactive'],
  ] as const)('%s', async (_title, reason, verdict) => {
    world.revalidate = async () => {
      if (verdict !== undefined) throw new Denial(verdict, 'unknown');
    };
    expect(await outcomes(world.route(), 't', 't')).toEqual([reason, reason]);
    expect([world.calls().length, world.revalidated]).toEqual([1, ['t']]);
  });

  test('causes two calls for a thousand simultaneous requests', async () => {
    const exchange = world.route();
    const found = await Promise.all(Array.from({ length: 1000 }, () => outcome(exchange, 't')));
    expect(new Set(found)).toEqual(new Set(['exchange.refused']));
    expect([world.calls().length, world.revalidated.length]).toEqual([1, 1]);
  });

  test('is a 503 while the token’s server is unavailable', async () => {
    const away = new Denial('authorization_server.unavailable', 'away');
    world.revalidate = () => Promise.reject(away);
    expect(await outcome(world.route(), 't')).toBe(away.reason);
  });
});

test.each<[reason: string, form: TokenForm, issuer: 'own' | 'other']>([
  ['token.inactive', 'jwt', 'own'],
  ['exchange.refused', 'jwt', 'other'],
  ['exchange.refused', 'opaque', 'own'],
])('invalid_grant for a token that verifies, RFC 6749 §5.2: %s: %s of the %s server', async (reason, form, issuer) => {
  world.refuseWith('invalid_grant');
  const of = { own: world.issuer.url, other: 'https://other.example' }[issuer];
  expect(await outcome(world.route(), 't', { form, issuer: of })).toBe(reason);
  expect(world.revalidated).toEqual(['t']);
});

describe('scope', () => {
  /** What comes of a caller whose token came from the exchange's server, or from `issuer`. */
  const asCaller = (held: string, issuer = world.issuer.url, exchange = {}, more: Partial<Principal> = {}) =>
    outcome(world.route(exchange), 't', { issuer, grantedScopes: held.split(' '), ...more });
  const grant = (scope: unknown): void => void (world.answer = () => issued('new', { scope }));

  test.each<[string, unknown, exchange?: object]>([
    ['as asked, not told', undefined],
    ['as asked, told', 'read list'],
    ['in another order, and more', 'more list read'],
    ['where none was requested', 'x', { scope: [] }],
  ])('granted %s: taken', async (_, scope, exchange) => {
    grant(scope);
    expect(await asCaller('x', undefined, exchange)).toBe('Bearer new');
  });

  test.each<[reason: string, granted: string, held: string]>([
    ['exchange.insufficient_scope', 'read', 'read'],
    ['exchange.insufficient_scope', '', 'x'],
    ['exchange.scope', 'read', 'read list'],
    ['exchange.scope', '', 'list'],
  ])('%s: granted "%s" to a token with "%s"', async (reason, granted, held) => {
    grant(granted);
    expect(await asCaller(held)).toBe(reason);
  });

  test.each<[reason: string, held: string]>([
    ['exchange.insufficient_scope', 'read'],
    ['exchange.insufficient_scope', ''],
    ['exchange.scope', 'read list'],
  ])('%s: invalid_scope for a token with "%s"', async (reason, held) => {
    world.refuseWith('invalid_scope');
    expect(await asCaller(held)).toBe(reason);
  });

  test('does not count a scope that only the hierarchy implies', async () => {
    grant('write');
    const implied = { scopes: new Set(['write', 'read']) };
    expect(await asCaller('write', undefined, { scope: ['read'] }, implied)).toBe('exchange.insufficient_scope');
  });

  test('exchange.scope for a token of another server', async () => {
    grant('read');
    expect(await asCaller('read', 'https://other.example')).toBe('exchange.scope');
  });

  test('the challenge names all that each operation needs, from one refusal', async () => {
    grant('');
    const needing = (...scope: string[]) => ({ neededScopes: () => scope }) as unknown as Plan;
    const ask = (operation?: Plan) =>
      credentialOf(world.route(), 't', { issuer: world.issuer.url, grantedScopes: ['x'] }, operation);
    const asked = [ask(needing('x', 'pay')), ask(needing('list')), ask()];
    const denials = await Promise.all(asked.map((call) => call.catch((error: unknown) => error as Denial)));
    expect(denials).toMatchObject([
      { scope: ['x', 'pay', 'read', 'list'] },
      { scope: ['list', 'read'] },
      { scope: ['read', 'list'] },
    ]);
    await expect(ask(needing('later'))).rejects.toMatchObject({ scope: ['later', 'read', 'list'] });
    expect(world.calls().length).toBe(1);
  });
});

describe('actor: client_credentials', () => {
  const isOwn = (form: URLSearchParams): boolean => form.get('grant_type') === 'client_credentials';
  const own = (): number => world.calls().filter(isOwn).length;
  const delegated = () => world.route({ actor: 'client_credentials' });
  let ownAnswer: typeof world.answer;
  let exchanged: typeof world.answer;
  beforeEach(() => {
    let made = 0;
    ownAnswer = () => ({ body: { access_token: `own-${(made += 1)}`, token_type: 'bearer', expires_in: 60 } });
    exchanged = world.answer;
    world.answer = (form) => (isOwn(form) ? ownAnswer(form) : exchanged(form));
  });

  test('RFC 8693 §2.1: sends the gateway’s own token with its type', async () => {
    await outcome(delegated(), 't');
    const [first, second] = world.calls();
    expect(Object.fromEntries(first ?? [])).toEqual({ grant_type: 'client_credentials' });
    expect(Object.fromEntries(second ?? [])).toMatchObject({
      subject_token: 't',
      actor_token: 'own-1',
      actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
  });

  test('requests one token for a hundred simultaneous callers', async () => {
    const exchange = delegated();
    await Promise.all(Array.from({ length: 100 }, (_, i) => outcome(exchange, `t${i}`)));
    expect([own(), world.calls().length]).toEqual([1, 101]);
  });

  test('renews it shortly before it expires', async () => {
    const exchange = delegated();
    await outcome(exchange, 't');
    world.now += 53_999;
    await outcome(exchange, 'u');
    expect(own()).toBe(1);
    world.now += 1;
    await outcome(exchange, 'v');
    expect(own()).toBe(2);
    expect(world.calls().at(-1)?.get('actor_token')).toBe('own-2');
  });

  const refused = () => ({ status: 400, body: { error: 'invalid_request' } });

  test('discards it after a refusal that it may have caused', async () => {
    exchanged = refused;
    const exchange = delegated();
    expect(await outcome(exchange, 't')).toBe('exchange.refused');
    exchanged = () => issued('new');
    expect(await outcome(exchange, 'u')).toBe('Bearer new');
    expect(own()).toBe(2);
  });

  test('keeps it if the caller’s token has expired', async () => {
    exchanged = refused;
    world.revalidate = () => Promise.reject(new Denial('token.expired', 'ended'));
    expect(await outcomes(delegated(), 't', 'u')).toEqual(['token.expired', 'token.expired']);
    expect(own()).toBe(1);
  });

  test.each<[reason: string, status: number, body: unknown]>([
    ['exchange.refused', 400, { error: 'unauthorized_client' }],
    ['exchange.invalid', 200, { access_token: 'a b', token_type: 'bearer' }],
    ['authorization_server.unavailable', 500, {}],
  ])('%s if it cannot be obtained, without an exchange: %d %j', async (reason, status, body) => {
    ownAnswer = () => ({ status, body });
    expect(await outcome(delegated(), 't')).toBe(reason);
    expect(world.calls().length).toBe(1);
  });
});
