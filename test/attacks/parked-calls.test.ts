/** A caller sends most of a request while its token is good, and the rest when it suits it. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { callOf } from './requests.ts';
import { startEditedGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { head, open } from '../support/raw.ts';
import { startBeforeEach } from '../support/start-before.ts';
import { until } from '../support/until.ts';
import { startUpstream } from '../support/upstream.ts';
import { publicUrl, startWorld } from '../worlds/gateway.ts';

let passedMs: number;

const yaml = (mcp = '/mcp', upstreamPath = '/mcp', apiPath = '/api', api = ''): string => `
limits: { failures: off }
revocation: { endpoint: { path: /revoke, authorization_servers: [main], scope: revoke } }
approvals: { authorization_servers: [main] }
authorization_servers:
  main:
    issuer: ${issuer.url}
    introspection: { client_id: gateway, client_secret: s3cr3t, cache: 0s }
routes:
  - { name: tools, path: ${mcp}, protocol: mcp, audience: a, policy: tools,
      upstream: { url: "${upstream.url}${upstreamPath}" } }
  - { name: api, path: /api, audience: a${api}, upstream: { url: "${upstream.url}${apiPath}" } }
`;

const issuer = startBeforeEach(startIssuer);
const upstream = startBeforeEach(startUpstream);
const gateway = startBeforeEach(() =>
  startEditedGateway(
    yaml(),
    { tools: 'tools: { pay: {} }\n', api: 'requests: { "POST /api": {} }\n' },
    () => Date.now() + passedMs,
  ),
);
beforeEach(() => {
  passedMs = 0;
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = { active: true, aud: ['a', `${publicUrl}/approvals`, `${publicUrl}/revoke`], scope: 'revoke', exp };
  issuer.introspection.set('one', { ...claims, sub: 'alice' });
  issuer.introspection.set('other', { ...claims, sub: 'bob' });
});

const body = callOf('pay');

/**
 * Sends all of a request but its last bytes, and waits until the gateway has accepted its token. `release` sends the rest,
 * and gives the status of the answer.
 */
async function park(path: string, whole = body): Promise<{ readonly release: () => Promise<number> }> {
  const before = issuer.requestsTo('/introspect').length;
  const lines = ['Authorization: Bearer one', 'Content-Type: application/json', `Content-Length: ${whole.length}`];
  const connection = await open(gateway.url, head(`POST ${path}`, ...lines) + whole.slice(0, -5));
  await until(() => issuer.requestsTo('/introspect').length > before, 'the token to be examined');
  // The answer of the issuer reached the gateway before the answer to a later question.
  expect(await status('/api')).toBe(200);
  return {
    async release() {
      connection.socket.write(whole.slice(-5));
      await connection.has(/^HTTP\/1\.1 \d+ /);
      return Number(connection.received().slice(9, 12));
    },
  };
}

/** Saves, and waits until it is in force: what was there before may be read once more. */
async function save(name: string, text: string): Promise<void> {
  const isNew = (line: Record<string, unknown>): boolean =>
    line['msg'] === 'configuration reloaded' && line['config'] !== line['before'];
  await gateway.save(name, text);
  await until(async () => (await gateway.lines()).some(isNew), 'the edit to be in force');
}

async function status(path: string, method = 'GET', sent?: string, token = 'one'): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(gateway.url + path, { method, headers, ...(sent !== undefined && { body: sent }) });
  await answer.body?.cancel();
  return answer.status;
}

const reached = (path: string): number =>
  upstream.seen.filter(({ method, url }) => method === 'POST' && url === path).length;

/** The authorization server ends the token, of which another call learns. */
async function ended(): Promise<void> {
  issuer.introspection.delete('one');
  expect(await status('/api')).toBe(401);
}

async function revoked(): Promise<void> {
  const subject = JSON.stringify({ sub_id: { format: 'iss_sub', iss: issuer.url, sub: 'alice' } });
  expect(await status('/revoke', 'POST', subject, 'other')).toBe(204);
}

async function expired(): Promise<void> {
  passedMs = 700_000;
  await Promise.resolve();
}

describe('a message is decided on when it is complete', () => {
  test.each<[string, status: number, reason: string, () => Promise<unknown>]>([
    ['its token was ended', 401, 'token.inactive', ended],
    ['its person was revoked', 401, 'token.revoked', revoked],
    ['its token has expired', 401, 'token.expired', expired],
    ['a policy lists no such tool', 403, 'tool.unlisted', () => save('policies/tools.yaml', 'tools: {}\n')],
    ['its route is gone', 404, 'route.unknown', () => save('gateway.yaml', yaml('/other'))],
  ])('and refused where %s', async (_what, wanted, reason, lose) => {
    const { release } = await park('/mcp');
    await lose();
    expect(await release()).toBe(wanted);
    await gateway.decision({ allow: false, reason, tool: 'pay' });
    expect(reached('/mcp')).toBe(0);
  });

  test('by a rule over time that is new', async () => {
    const { release } = await park('/mcp');
    await save('policies/tools.yaml', 'tools: { pay: { quota: [{ count: 1, per: 1h }] } }\n');
    expect(await status('/mcp', 'POST', body)).toBe(200);
    expect(await release()).toBe(429);
    expect(reached('/mcp')).toBe(1);
  });

  test('and goes where its route leads now', async () => {
    const { release } = await park('/mcp');
    await save('gateway.yaml', yaml('/mcp', '/new'));
    expect(await release()).toBe(200);
    expect([reached('/mcp'), reached('/new')]).toEqual([0, 1]);
  });

  test('and its server is asked about a token of half a minute ago', async () => {
    const { release } = await park('/mcp');
    issuer.introspection.delete('one');
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 31_000);
    expect(await release()).toBe(401);
    vi.restoreAllMocks();
    expect(reached('/mcp')).toBe(0);
  });
});

test.each<[string, () => Promise<unknown>]>([
  ['was ended', ended],
  ['was revoked', revoked],
])('an upload ends with the right of its caller, whose token %s', async (_how, lose) => {
  const { release } = await park('/api');
  await lose();
  expect(await release()).toBe(401);
  expect(reached('/api')).toBe(0);
});

test('an upload that began goes on where its route leads elsewhere since', async () => {
  const { release } = await park('/api');
  await save('gateway.yaml', yaml('/mcp', '/mcp', '/green'));
  expect(await release()).toBe(200);
  expect([reached('/api'), reached('/green')]).toEqual([1, 0]);
});

test('an upload goes on where a policy allows it since, and ends where none does', async () => {
  const [allowed, refused] = [await park('/api'), await park('/api/x')];
  await save('gateway.yaml', yaml('/mcp', '/mcp', '/api', ', policy: api'));
  expect([await allowed.release(), await refused.release()]).toEqual([200, 403]);
  expect([reached('/api'), reached('/api/x')]).toEqual([1, 0]);
});

test('an upload may take longer than its token lives', async () => {
  const { release } = await park('/api');
  await expired();
  expect(await release()).toBe(200);
  expect(reached('/api')).toBe(1);
});

test.each(['/approvals/AAAAAAAAAAAAAAAAAAAAAA', '/revoke'])(
  'the gateway takes no decision at %s after the end of the token',
  async (path) => {
    const { release } = await park(path, JSON.stringify({ decision: 'approve', digest: 'x' }));
    await ended();
    expect(await release()).toBe(401);
  },
);

test('a token ends by the clock tolerance of its own server, not by that of another server of the route', async () => {
  const world = await startWorld({
    server: 'introspection: { client_id: gateway, client_secret: s3cr3t }, clock_tolerance: 0s',
    servers: 'other: { issuer: "https://other.example", jwt: { algorithms: [RS256] }, clock_tolerance: 5m }',
    routes: [
      'name: tools, path: /mcp, protocol: mcp, audience: a, authorization_servers: [main, other], upstream: { url: "UPSTREAM" }',
    ],
  });
  onTestFinished(() => world.close());
  const token = world.opaque({ exp: Math.floor(Date.now() / 1000) + 60 });
  const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  const connection = await open(world.gateway.url, head('POST /mcp', ...lines) + body.slice(0, -5));
  await until(() => world.issuer.requestsTo('/introspect').length > 0, 'the token to be examined');
  // The answer of the issuer reached the gateway before the answer to a later question.
  expect((await world.post('/mcp', world.opaque(), body)).status).toBe(200);
  world.advance(70);
  connection.socket.write(body.slice(-5));
  await connection.has(/^HTTP\/1\.1 \d+ /);
  expect(connection.received().slice(9, 12)).toBe('401');
  await world.gateway.decision({ allow: false, reason: 'token.expired' });
});

test('an upload ends with its token, although the caller shows the token to another server since', async () => {
  const other = await startIssuer();
  const introspection = 'introspection: { client_id: gateway, client_secret: s3cr3t, cache: 0s }';
  const world = await startWorld({
    server: introspection,
    servers: `other: { issuer: "${other.url}", ${introspection} }`,
    routes: [
      'name: api, path: /api, audience: a, authorization_servers: [main], upstream: { url: "UPSTREAM" }',
      'name: other, path: /other, audience: a, authorization_servers: [other], upstream: { url: "UPSTREAM" }',
    ],
  });
  onTestFinished(async () => {
    await Promise.all([world.close(), other.close()]);
  });
  const token = world.opaque();
  const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  const connection = await open(world.gateway.url, head('POST /api', ...lines) + body.slice(0, -5));
  await until(() => world.issuer.requestsTo('/introspect').length > 0, 'the token to be examined');
  // The answer of the issuer reached the gateway before the answer to a later question.
  expect((await world.send('/api', { token })).status).toBe(200);
  world.issuer.introspection.delete(token);
  expect((await world.send('/api', { token })).status).toBe(401);
  expect((await world.send('/other', { token })).status).toBe(401);
  connection.socket.write(body.slice(-5));
  await connection.has(/^HTTP\/1\.1 \d+ /);
  expect(connection.received().slice(9, 12)).toBe('401');
});

test('a reload gives no further room for bodies that wait', async () => {
  const size = 1024 * 1024;
  const lines = ['Authorization: Bearer one', 'Content-Type: application/json', `Content-Length: ${size}`];
  const whole = body.padEnd(size);
  const send = (sent: string) => open(gateway.url, head('POST /mcp', ...lines) + sent);
  const waiting = await Promise.all(Array.from({ length: 65 }, () => send(whole.slice(0, -1))));
  const isRefused = () => waiting.some((each) => each.received().startsWith('HTTP/1.1 503 '));
  await until(isRefused, 'one body more than an address may have');
  await save('gateway.yaml', yaml('/mcp', '/new'));
  const later = await send(whole);
  await later.has(/^HTTP\/1\.1 \d+ /);
  expect(later.received().slice(9, 12)).toBe('503');
  await gateway.decision({ reason: 'body.no_room' });
});
