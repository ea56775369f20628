import { beforeEach, describe, expect, test } from 'vitest';
import { Denial } from '../../../src/model/denial.ts';
import type { TokenForm } from '../../../src/model/principal.ts';
import { credentialOf, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const world = startBeforeEach(startTokenEndpointWorld);

describe('a refusal', () => {
  test('is cached for five seconds, for this token only', async () => {
    const { answer } = world;
    world.answer = () => ({ status: 400, body: { error: 'invalid_target' } });
    const exchange = world.route();
    const refused = { reason: 'exchange.refused', detail: 'the exchange was refused with 400 invalid_target' };
    for (const _ of [1, 2, 3]) await expect(credentialOf(exchange, 't')).rejects.toMatchObject(refused);
    expect(world.calls().length).toBe(1);
    world.answer = answer;
    await expect(credentialOf(exchange, 'u')).resolves.toBe('Bearer for-u');
    world.now += 4_999;
    await expect(credentialOf(exchange, 't')).rejects.toMatchObject(refused);
    world.now += 1;
    await expect(credentialOf(exchange, 't')).resolves.toBe('Bearer for-t');
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
    await expect(credentialOf(world.route(), 't')).rejects.toMatchObject({ reason });
    expect(world.revalidated).toEqual([]);
  });

  test('shows the error code and no other text of the server', async () => {
    world.answer = () => ({ status: 400, body: { error: 'subject_token=t0ken', error_description: 't0ken' } });
    const denial = await credentialOf(world.route(), 't0ken').catch((error: unknown) => error as Denial);
    expect(denial).toMatchObject({ detail: 'the exchange was refused with 400 without an error code' });
  });

  test('names the setting that replaces a missing token endpoint', async () => {
    world.issuer.intercept = (request, response) => {
      if (request.url?.startsWith('/.well-known/') !== true) return false;
      response.end(JSON.stringify({ issuer: world.issuer.url, jwks_uri: `${world.issuer.url}/jwks` }));
      return true;
    };
    await expect(credentialOf(world.route(), 't')).rejects.toMatchObject({ reason: 'exchange.refused' });
  });
});

describe.each(['invalid_request', 'invalid_grant'])('%s, RFC 8693 §2.2.2 and RFC 6749 §5.2', (refusal) => {
  beforeEach(() => {
    world.answer = () => ({ status: 400, body: { error: refusal } });
  });

  test('is exchange.refused if the token is still valid', async () => {
    const exchange = world.route();
    for (const _ of [1, 2])
      await expect(credentialOf(exchange, 't')).rejects.toMatchObject({ reason: 'exchange.refused' });
    expect([world.calls().length, world.revalidated]).toEqual([1, ['t']]);
  });

  test('refuses the token if its own server does', async () => {
    world.revalidate = async () => {
      throw new Denial('token.inactive', 'unknown');
    };
    const exchange = world.route();
    for (const _ of [1, 2])
      await expect(credentialOf(exchange, 't')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect([world.calls().length, world.revalidated]).toEqual([1, ['t']]);
  });

  test('causes two calls for a thousand simultaneous requests', async () => {
    const exchange = world.route();
    const outcomes = await Promise.allSettled(Array.from({ length: 1000 }, () => credentialOf(exchange, 't')));
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect([world.calls().length, world.revalidated.length]).toEqual([1, 1]);
  });

  test('is a 503 while the token’s server is unavailable', async () => {
    world.revalidate = async () => {
      throw new Denial('authorization_server.unavailable', 'away');
    };
    await expect(credentialOf(world.route(), 't')).rejects.toMatchObject({
      reason: 'authorization_server.unavailable',
    });
  });
});

describe('invalid_grant for a token that verifies, RFC 6749 §5.2', () => {
  test.each<[reason: string, form: TokenForm, issuer: 'own' | 'other']>([
    ['token.inactive', 'jwt', 'own'],
    ['exchange.refused', 'jwt', 'other'],
    ['exchange.refused', 'opaque', 'own'],
  ])('%s: %s of the %s server', async (reason, form, issuer) => {
    world.answer = () => ({ status: 400, body: { error: 'invalid_grant' } });
    const of = { own: world.issuer.url, other: 'https://other.example' }[issuer];
    await expect(credentialOf(world.route(), 't', { form, issuer: of })).rejects.toMatchObject({ reason });
    expect(world.revalidated).toEqual(['t']);
  });
});
