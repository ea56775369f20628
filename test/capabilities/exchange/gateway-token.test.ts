import { beforeEach, describe, expect, test } from 'vitest';
import { examineExchanges } from '../../../src/capabilities/exchange/doctor.ts';
import { GatewayTokens } from '../../../src/capabilities/exchange/gateway-token.ts';
import type { CredentialSource } from '../../../src/core/model/gate.ts';
import type { KeptAnswer, SharedAnswers } from '../../../src/ports/shared.ts';
import { exchangeWith, grantFor, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { refuses } from '../../serve/config/edits.ts';
import { loaded } from '../../serve/config/folder.ts';
import { forThisTest, startBeforeAll, startBeforeEach } from '../../support/start-before.ts';
import { sendJson } from '../../support/upstream.ts';
import { startWorld, type World } from '../../worlds/gateway.ts';
import { toolCall } from '../../worlds/wire.ts';

const grant =
  'token: client_credentials, client_credentials: { server: main, client_id: gw, client_secret: s3cr3t-gw, scope: [crm], audience: crm, resource: "https://crm.internal/" }';

interface GrantWorld extends World {
  /** The answer of the token endpoint: a status, or the lifetime of a numbered token. */
  answer: { status?: number; body?: object; lifetime?: number; same?: boolean };
  /** The status of the upstream. */
  status: number;
  /** The authorization that the upstream saw last. */
  sent(): string | undefined;
  asked(): number;
}

async function startGrantWorld(top = ''): Promise<GrantWorld> {
  const started: { world?: GrantWorld } = {};
  const base = await startWorld({
    top,
    routes: [
      `name: api, path: /api, audience: a, upstream: { url: "UPSTREAM", ${grant} }`,
      `name: tools, path: /mcp, protocol: mcp, audience: a, upstream: { url: "UPSTREAM/mcp", ${grant} }`,
      `name: open, path: /open, public: true, upstream: { url: "UPSTREAM", ${grant} }`,
    ],
    upstream: (_, response) => sendJson(response, started.world?.status ?? 200, {}),
  });
  let made = 0;
  base.issuer.answerAt('/token', (_request, response) => {
    const { status = 200, body, lifetime = 600, same = false } = world.answer;
    made += same ? 0 : 1;
    sendJson(response, status, body ?? { access_token: `own-${made}`, token_type: 'Bearer', expires_in: lifetime });
  });
  const world: GrantWorld = {
    ...base,
    answer: {},
    status: 200,
    sent: () => base.upstream.seen.at(-1)?.headers.authorization,
    asked: () => base.issuer.requestsTo('/token').length,
  };
  started.world = world;
  return world;
}

const world = startBeforeEach(() => startGrantWorld());
let token: string;
beforeEach(async () => {
  token = await world.token();
});

test('RFC 6749 §4.4, RFC 8707 §2: all callers of all routes share one token of the gateway', async () => {
  const calls = Array.from({ length: 8 }, async (_, at) =>
    world.send('/api', { token: await world.token({ sub: `c${at}` }) }),
  );
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
  await world.send('/open');
  expect(world.sent()).toBe('Bearer own-1');
  await world.post('/mcp', token, toolCall('look'));
  expect(world.sent()).toBe('Bearer own-1');
  expect(world.asked()).toBe(1);
  const [{ body, authorization } = { body: '', authorization: '' }] = world.issuer.requestsTo('/token');
  expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
    grant_type: 'client_credentials',
    scope: 'crm',
    audience: 'crm',
    resource: 'https://crm.internal/',
  });
  expect(authorization).toBe(`Basic ${Buffer.from('gw:s3cr3t-gw').toString('base64')}`);
});

test('from three quarters of its life a token is renewed in the background', async () => {
  await world.send('/open');
  world.advance(400);
  await world.send('/open');
  expect(world.asked()).toBe(1);
  world.advance(60);
  await world.send('/open');
  expect(world.sent()).toBe('Bearer own-1');
  await expect.poll(async () => (await world.send('/open'), world.sent())).toBe('Bearer own-2');
  expect(world.asked()).toBe(2);

  // The server is unavailable: calls go on with the token, and the server is not asked again at once.
  world.answer = { status: 500, body: {} };
  world.advance(460);
  for (let calls = 0; calls < 5; calls += 1) expect((await world.send('/open')).status).toBe(200);
  expect(world.sent()).toBe('Bearer own-2');
  expect(world.asked()).toBe(3);
});

describe('a 401 of the upstream', () => {
  test('passes, is not repeated, and the next call gets a new token', async () => {
    await world.send('/api', { token });
    world.status = 401;
    const before = world.upstream.seen.length;
    expect((await world.send('/api', { token })).status).toBe(401);
    expect(world.upstream.seen.length).toBe(before + 1);
    world.status = 200;
    await world.send('/api', { token });
    expect([world.sent(), world.asked()]).toEqual(['Bearer own-2', 2]);
    world.status = 401;
    expect((await world.post('/mcp', token, toolCall('look'))).status).toBe(502);
  });

  test('to many calls at once costs one request for each refused token', async () => {
    world.status = 401;
    await Promise.all(Array.from({ length: 10 }, () => world.send('/open')));
    const refused = (): number => new Set(world.upstream.seen.map(({ headers }) => headers.authorization)).size;
    expect(world.asked()).toBe(refused());
    // The server issues the token again that was refused.
    world.answer = { same: true };
    const before = world.asked();
    for (let calls = 0; calls < 5; calls += 1) await world.send('/open');
    expect(world.asked()).toBe(before + 1);
  });
});

test.each([
  [{ status: 400, body: { error: 'invalid_client' } }, 502, 'exchange.refused'],
  [{ status: 400, body: { error: 'invalid_scope' } }, 502, 'exchange.scope'],
  [{ body: { access_token: 'x', token_type: 'Bearer', expires_in: 60, scope: 'other' } }, 502, 'exchange.scope'],
  [{ body: { access_token: 'x', token_type: 'DPoP' } }, 502, 'exchange.invalid'],
  [{ body: { token_type: 'Bearer' } }, 502, 'exchange.invalid'],
  [{ status: 500, body: {} }, 503, 'authorization_server.unavailable'],
])('%j: %i %s, and a refusal is not asked for again at once', async (answer, status, reason) => {
  world.answer = answer;
  for (let calls = 0; calls < 3; calls += 1) expect((await world.send('/open')).status).toBe(status);
  expect(await world.gateway.decision()).toMatchObject({ reason, route: 'open' });
  expect(world.asked() === 1 || status === 503).toBe(true);
  expect(world.upstream.seen).toEqual([]);
});

test("the client's own token is never sent as the gateway's", async () => {
  world.answer = { body: { access_token: token, token_type: 'Bearer', expires_in: 60 } };
  expect((await world.send('/api', { token })).status).toBe(502);
  expect(await world.gateway.decision()).toMatchObject({ reason: 'exchange.invalid' });
});

test('replicas share the token, but not one that the upstream refused', async () => {
  const endpoint = await forThisTest(startTokenEndpointWorld());
  let made = 0;
  endpoint.answer = () => ({ body: { access_token: `own-${(made += 1)}`, token_type: 'Bearer', expires_in: 600 } });
  const store = new Map<string, KeptAnswer>();
  const answers: SharedAnswers = {
    get: async (_, key) => store.get(key),
    set: (_, key, answer, expiresAt) => void store.set(key, { answer, expiresAt }),
    delete: (_, key) => void store.delete(key),
  };
  const { client } = endpoint;
  const settings = { ...exchangeWith({ server: client.server }), audience: [], scope: [] };
  const [one, other] = [1, 2].map(() =>
    new GatewayTokens(
      () => endpoint.now,
      () => {},
      answers,
    ).source(settings, client),
  ) as [CredentialSource, CredentialSource];
  const [here, there] = [grantFor({}), grantFor({})];
  expect([await one.obtain(here, undefined), await other.obtain(there, undefined)]).toEqual([
    'Bearer own-1',
    'Bearer own-1',
  ]);
  one.onUnauthorized?.(here);
  expect(await one.obtain(here, undefined)).toBe('Bearer own-2');
  other.onUnauthorized?.(there);
  // What was refused there is replaced by what the first replica has got since.
  expect(await other.obtain(there, undefined)).toBe('Bearer own-2');
  expect(made).toBe(2);
});

describe('check', () => {
  refuses(`
upstream token: client_credentials
  :13:14: routes[0].upstream.token: client_credentials needs the key client_credentials beside it
upstream client_credentials: {}
  :13:7: routes[0].upstream.client_credentials: applies only with token: client_credentials
upstream token: client_credentials⏎client_credentials: { scope: [a] } → accepted
upstream token: client_credentials⏎client_credentials: { actor: none }
  :14:29: routes[0].upstream.client_credentials.actor: unknown key; accepted: …
upstream token: client_credentials⏎client_credentials: { resource: crm }
  :14:39: routes[0].upstream.client_credentials.resource: "crm" is not an absolute URI without fragment
no audience & route public: true & upstream token: client_credentials⏎client_credentials: { server: main } → accepted
no audience & route public: true & upstream token: exchange
  :13:14: routes[0].upstream.token: "exchange" cannot be combined with public: true
`);
});

describe('doctor', () => {
  const it = startBeforeAll(() => startGrantWorld());
  async function found(): Promise<readonly string[]> {
    const config = await loaded({
      yaml: `public_url: http://127.0.0.1:9
authorization_servers: { main: { issuer: "${it.issuer.url}", jwt: { algorithms: [RS256] } } }
routes: [{ name: api, path: /api, public: true, upstream: { url: http://127.0.0.1:9, ${grant} } }]
`,
    });
    return (await examineExchanges(config)).map(({ status, subject, text, remedy }) =>
      [status, subject, text, remedy].join(' | '),
    );
  }
  test('tries it', async () => {
    const on = 'routes.api.upstream.client_credentials';
    expect(await found()).toEqual([`ok | ${on} | the server grants gw a token for the upstream | `]);
    it.answer = { status: 400, body: { error: 'invalid_scope' } };
    expect(await found()).toEqual([
      `fail | ${on} | the server answers 400 invalid_scope to the gateway | set client_credentials.scope to scopes that the server grants for the audience`,
    ]);
    it.answer = { status: 400, body: { error: 'invalid_grant' } };
    expect(await found()).toEqual([
      `warn | ${on} | the server answers 400 invalid_grant to the gateway | look at its log, and call once`,
    ]);
  });
});
