import { beforeEach, describe, expect, test } from 'vitest';
import { granted, startExchangeWorld, type } from '../worlds/exchange.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startExchangeWorld);
beforeEach(() => world.reset());

describe('the request', () => {
  test('R-119, RFC 8693 §2.1: sends the token of the caller, the targets and its own credentials', async () => {
    const token = await world.freshToken();
    expect(await world.send('/', { token })).toMatchObject({ status: 200 });
    expect(Object.fromEntries(world.lastForm())).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: type('access_token'),
      requested_token_type: type('access_token'),
      audience: 'b',
      resource: 'https://b.example/x',
      scope: 'read write',
    });
    expect(world.asked().at(-1)?.authorization).toBe(`Basic ${Buffer.from('gateway:secret').toString('base64')}`);
  });

  test('R-119, RFC 8693 §2.1: sends several audiences and resources, and the configured types', async () => {
    world.answer = { status: 200, body: { ...granted, issued_token_type: type('jwt') } };
    expect(await world.send('/lists', { token: await world.freshToken() })).toMatchObject({ status: 200 });
    const form = world.lastForm();
    expect(form.getAll('audience')).toEqual(['b', 'c']);
    expect(form.getAll('resource')).toEqual(['https://b.example/', 'https://c.example/']);
    expect([form.get('subject_token_type'), form.get('requested_token_type')]).toEqual([type('jwt'), type('jwt')]);
    expect(form.has('scope')).toBe(false);
  });

  test('R-120, RFC 8693 §2.1: sends an actor_token with its type, and neither without the other', async () => {
    expect(await world.send('/delegated', { token: await world.freshToken() })).toMatchObject({ status: 200 });
    expect(Object.fromEntries(world.lastForm())).toMatchObject({
      actor_token: 'gateway-itself',
      actor_token_type: type('access_token'),
    });
    await world.send('/', { token: await world.freshToken() });
    expect([world.lastForm().has('actor_token'), world.lastForm().has('actor_token_type')]).toEqual([false, false]);
  });

  test('R-120, RFC 8693 §2.1: gets its own token once for many callers by the client credentials grant', async () => {
    const grants = (): number => world.asked().filter(({ body }) => body === 'grant_type=client_credentials').length;
    const before = grants();
    world.advance(600);
    await Promise.all([1, 2, 3, 4].map(async () => world.send('/delegated', { token: await world.freshToken() })));
    expect(grants()).toBe(before + 1);
    expect(await world.gateway.metrics()).toMatch(
      /sallyport_authorization_server_requests_total\{server="main",operation="client_credentials",result="ok"\} \d/,
    );
  });

  test('R-120, RFC 8693 §2.1: exchanges nothing without its own token', async () => {
    world.advance(600);
    world.own = { status: 400, body: { error: 'unauthorized_client' } };
    const before = world.upstream.seen.length;
    expect(await world.send('/delegated', { token: await world.freshToken() })).toMatchObject({ status: 502 });
    expect(world.lastForm().get('grant_type')).toBe('client_credentials');
    expect(world.upstream.seen.length).toBe(before);
  });
});

test('R-122, RFC 8693 §2.2.1: sends the issued token upstream, and never the caller’s', async () => {
  const token = await world.freshToken();
  await world.send('/', { token });
  const seen = world.upstream.seen.at(-1);
  expect(seen?.headers.authorization).toBe('Bearer new');
  expect(JSON.stringify(seen)).not.toContain(token);
});

test('R-121, RFC 8693 §2.2.1: drops a refresh token beside a bearer token', async () => {
  world.answer = { status: 200, body: { ...granted, refresh_token: 'r3fresh' } };
  expect(await world.send('/', { token: await world.freshToken() })).toMatchObject({ status: 200 });
  const seen = world.upstream.seen.at(-1);
  expect(seen?.headers.authorization).toBe('Bearer new');
  expect(JSON.stringify([seen, await world.gateway.lines()])).not.toContain('r3fresh');
});

describe('an answer that is not a bearer access token', () => {
  test('R-121, RFC 8693 §2.2.1: answers 502 for token_type N_A', async () => {
    world.answer = { status: 200, body: { ...granted, token_type: 'N_A' } };
    const before = world.upstream.seen.length;
    expect(await world.send('/', { token: await world.freshToken() })).toMatchObject({ status: 502, challenge: null });
    await world.gateway.decision({ allow: false, reason: 'exchange.invalid' });
    expect(world.upstream.seen.length).toBe(before);
  });

  test('R-121, RFC 8693 §2.2.1: answers 502 for an access token where it asked for a JWT', async () => {
    expect(await world.send('/lists', { token: await world.freshToken() })).toMatchObject({ status: 502 });
  });
});

describe('the lifetime of an issued token', () => {
  test('R-123, RFC 8693 §2.2.1: keeps it until shortly before expires_in, with one request in flight', async () => {
    const [token, before] = [await world.freshToken(), world.asked().length];
    await Promise.all([1, 2, 3, 4].map(() => world.send('/', { token })));
    expect(world.asked().length).toBe(before + 1);
    world.advance(89);
    await world.send('/', { token });
    expect(world.asked().length).toBe(before + 1);
    world.advance(2);
    await world.send('/', { token });
    expect(world.asked().length).toBe(before + 2);
  });

  test('R-123, RFC 8693 §2.2.1: keeps it for its caller alone', async () => {
    const before = world.asked().length;
    for (const token of [await world.freshToken(), await world.freshToken()]) await world.send('/', { token });
    expect(world.asked().length).toBe(before + 2);
  });

  test('R-123, RFC 8693 §2.2.1: uses it once where the server names no lifetime', async () => {
    world.answer = { status: 200, body: { ...granted, expires_in: undefined } };
    const [token, before] = [await world.freshToken(), world.asked().length];
    for (const _ of [1, 2]) expect(await world.send('/', { token })).toMatchObject({ status: 200 });
    expect(world.asked().length).toBe(before + 2);
  });
});
