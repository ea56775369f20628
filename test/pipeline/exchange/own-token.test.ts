import { beforeEach, describe, expect, test } from 'vitest';
import { Denial } from '../../../src/model/denial.ts';
import { credentialOf, issued, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const world = startBeforeEach(startTokenEndpointWorld);

describe('actor: client_credentials', () => {
  const isOwn = (form: URLSearchParams): boolean => form.get('grant_type') === 'client_credentials';
  const own = (): number => world.calls().filter(isOwn).length;
  let ownAnswer: () => ReturnType<typeof issued>;
  let exchanged: (form: URLSearchParams) => ReturnType<typeof issued>;
  beforeEach(() => {
    let made = 0;
    ownAnswer = () => ({ body: { access_token: `own-${(made += 1)}`, token_type: 'bearer', expires_in: 60 } });
    exchanged = world.answer;
    world.answer = (form) => (isOwn(form) ? ownAnswer() : exchanged(form));
  });

  test('RFC 8693 §2.1: sends the gateway’s own token with its type', async () => {
    await credentialOf(world.route({ actor: 'client_credentials' }), 't');
    const [first, second] = world.calls();
    expect(Object.fromEntries(first ?? [])).toEqual({ grant_type: 'client_credentials' });
    expect(Object.fromEntries(second ?? [])).toMatchObject({
      subject_token: 't',
      actor_token: 'own-1',
      actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
  });

  test('requests one token for a hundred simultaneous callers', async () => {
    const exchange = world.route({ actor: 'client_credentials' });
    await Promise.all(Array.from({ length: 100 }, (_, i) => credentialOf(exchange, `t${i}`)));
    expect([own(), world.calls().length]).toEqual([1, 101]);
  });

  test('renews it shortly before it expires', async () => {
    const exchange = world.route({ actor: 'client_credentials' });
    await credentialOf(exchange, 't');
    world.now += 53_999;
    await credentialOf(exchange, 'u');
    expect(own()).toBe(1);
    world.now += 1;
    await credentialOf(exchange, 'v');
    expect(own()).toBe(2);
    expect(world.calls().at(-1)?.get('actor_token')).toBe('own-2');
  });

  test('discards it after a refusal that it may have caused', async () => {
    exchanged = () => ({ status: 400, body: { error: 'invalid_request' } });
    const exchange = world.route({ actor: 'client_credentials' });
    await expect(credentialOf(exchange, 't')).rejects.toMatchObject({ reason: 'exchange.refused' });
    exchanged = () => issued('new');
    await expect(credentialOf(exchange, 'u')).resolves.toBe('Bearer new');
    expect(own()).toBe(2);
  });

  test('keeps it if the caller’s token has expired', async () => {
    exchanged = () => ({ status: 400, body: { error: 'invalid_request' } });
    world.revalidate = async () => {
      throw new Denial('token.expired', 'ended');
    };
    const exchange = world.route({ actor: 'client_credentials' });
    for (const token of ['t', 'u']) {
      await expect(credentialOf(exchange, token)).rejects.toMatchObject({ reason: 'token.expired' });
    }
    expect(own()).toBe(1);
  });

  test.each<[reason: string, status: number, body: unknown]>([
    ['exchange.refused', 400, { error: 'unauthorized_client' }],
    ['exchange.invalid', 200, { access_token: 'a b', token_type: 'bearer' }],
    ['authorization_server.unavailable', 500, {}],
  ])('%s if it cannot be obtained, without an exchange: %d %j', async (reason, status, body) => {
    ownAnswer = () => ({ status, body });
    await expect(credentialOf(world.route({ actor: 'client_credentials' }), 't')).rejects.toMatchObject({ reason });
    expect(world.calls().length).toBe(1);
  });
});
