import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startIssuer } from '../support/issuer.ts';
import { startBeforeEach } from '../support/start-before.ts';
import { AUDIENCE, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { until } from '../support/until.ts';

let passedMs: number;
/** Answers that the upstream holds back: those of `/late`. */
let held: ServerResponse[];

const route = (name: string, more = ''): string =>
  `name: ${name}, path: /${name}, audience: "${AUDIENCE}", upstream: { url: "UPSTREAM/${name}" }${more}`;
const main = ', authorization_servers: [main]';

const introspection = 'introspection: { client_id: gateway, client_secret: s3cr3t, cache: 0s }';
beforeEach(() => {
  passedMs = 0;
  held = [];
});
const other = startBeforeEach(startIssuer);
const world = startBeforeEach(() =>
  startAttackWorld({
    yaml: 'limits: { failures: off }',
    server: introspection,
    servers: `other: { issuer: "${other.url}", ${introspection} }`,
    routes: [
      route('events', main),
      route('download', main),
      route('late', main),
      route('chat', `${main}, upgrade: websocket`),
      route('asked', `${main}, revalidate: 24h`),
      route('foreign', ', authorization_servers: [other]'),
    ],
    clock: () => Date.now() + passedMs,
    answer: (request, response) => {
      const type = request.url === '/download' ? 'text/plain' : 'text/event-stream';
      if (request.url === '/alive') response.end(UPSTREAM_TEXT);
      else if (request.url === '/late') held.push(response);
      else response.writeHead(200, { 'content-type': type }).write('data: 1\n\n');
    },
  }),
);
startBeforeEach(() => new WebSocketServer({ server: world.upstream.server }));
beforeEach(() => {
  for (const token of ['one', 'two'])
    world.issuer.introspection.set(token, { active: true, sub: 'alice', aud: AUDIENCE });
});
afterEach(() => void vi.useRealTimers());

const send = (path: string, token: string): Promise<Response> =>
  fetch(`${world.url}${path}`, { headers: { authorization: `Bearer ${token}` } });

/** Opens a stream, and gives what comes of it: `end` in order, or `broken`. */
async function open(path: string, token: string): Promise<{ readonly over: Promise<'end' | 'broken'> }> {
  const answer = await send(path, token);
  expect(answer.status).toBe(200);
  const over = answer.text().then(
    () => 'end' as const,
    () => 'broken' as const,
  );
  return { over };
}

async function openSocket(token: string): Promise<{ readonly over: Promise<unknown> }> {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${world.url.replace('http', 'ws')}/chat`, { headers });
  const over = once(socket, 'close');
  await once(socket, 'open');
  return { over };
}

const openStreams = async (): Promise<boolean> => /open_streams\{[^}]*\} [1-9]/.test(await world.gateway.metrics());

describe('a token that is found revoked ends its open connections', () => {
  test('ends event streams, downloads and WebSockets of every route', async () => {
    const [events, asked, download, socket] = await Promise.all([
      open('/events', 'one'),
      open('/asked', 'one'),
      open('/download', 'one'),
      openSocket('one'),
    ]);
    world.issuer.introspection.delete('one');
    expect((await send('/alive', 'one')).status).toBe(401);
    expect(await Promise.all([events.over, asked.over, download.over])).toEqual(['end', 'end', 'broken']);
    await socket.over;
    await until(async () => !(await openStreams()), 'no open stream');
    for (const route of ['events', 'asked', 'download', 'chat'])
      expect(await world.gateway.line({ msg: 'stream ended', route })).toMatchObject({ reason: 'token.inactive' });
  });

  test('ends those of a JWT whose key is withdrawn', async () => {
    const jwt = await world.token({ exp: Math.floor(Date.now() / 1000) + 30 * 86_400 });
    const stream = await open('/events', jwt);
    world.issuer.keys = [];
    passedMs = 3_600_000 * 23;
    // The keys are fetched anew behind a request, so that only a later one knows.
    await until(async () => (await send('/alive', jwt)).status === 401, 'the JWT to be refused');
    expect(await stream.over).toBe('end');
    expect(await world.gateway.line({ msg: 'stream ended' })).toMatchObject({ route: 'events', reason: 'token.key' });
  });

  test('ends a stream that was not open yet', async () => {
    const late = send('/late', 'one');
    await until(() => held.length === 1, 'the upstream to be asked');
    world.issuer.introspection.delete('one');
    expect((await send('/alive', 'one')).status).toBe(401);
    held[0]?.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    await (await late).text();
    await until(async () => !(await openStreams()), 'no open stream');
  });

  test('ends none of another token, even if one server does not know that token', async () => {
    const [mine, hers] = await Promise.all([open('/events', 'one'), open('/events', 'two')]);
    expect((await send('/foreign', 'two')).status).toBe(401);
    world.issuer.introspection.delete('one');
    expect((await send('/alive', 'one')).status).toBe(401);
    expect(await mine.over).toBe('end');
    expect(await openStreams()).toBe(true);
    world.issuer.introspection.delete('two');
    expect((await send('/alive', 'two')).status).toBe(401);
    expect(await hers.over).toBe('end');
  });

  test('ends none while the authorization server is unavailable', async () => {
    const stream = await open('/events', 'one');
    world.issuer.intercept = (_request, response) => Boolean(response.writeHead(500).end());
    expect((await send('/alive', 'one')).status).toBe(503);
    expect(await openStreams()).toBe(true);
    world.issuer.intercept = undefined;
    world.issuer.introspection.delete('one');
    await until(async () => (await send('/alive', 'one')).status === 401, 'the server to be asked again');
    expect(await stream.over).toBe('end');
  });
});

describe('the gateway asks every 30 s about a token without an expiry', () => {
  test('on a route without revalidate', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const [events, download, socket] = await Promise.all([
      open('/events', 'one'),
      open('/download', 'one'),
      openSocket('one'),
    ]);
    const asked = (): number => world.issuer.requestsTo('/introspect').length;
    const before = asked();
    vi.advanceTimersByTime(29_999);
    world.issuer.introspection.delete('one');
    vi.advanceTimersByTime(1);
    expect(await Promise.all([events.over, download.over])).toEqual(['end', 'broken']);
    await socket.over;
    // One question for all of them.
    expect(asked()).toBe(before + 1);
  });

  test('does not ask about a token with an expiry', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const exp = Math.floor(Date.now() / 1000) + 3600;
    world.issuer.introspection.set('three', { active: true, sub: 'alice', aud: AUDIENCE, exp });
    const [ending, endless] = await Promise.all([open('/events', 'three'), open('/events', 'one')]);
    world.issuer.introspection.clear();
    vi.advanceTimersByTime(30_000);
    expect(await endless.over).toBe('end');
    expect(await openStreams()).toBe(true);
    expect((await send('/alive', 'three')).status).toBe(401);
    expect(await ending.over).toBe('end');
  });
});
