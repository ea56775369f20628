import { beforeEach, describe, expect, test } from 'vitest';
import { exchangeRaw, head, lastHead, open, startRawUpstream } from '../../../support/raw.ts';
import { startUpstream } from '../../../support/upstream.ts';
import { tlsLine } from '../../../support/certificates.ts';
import { until } from '../../../support/until.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

// test/attacks/ambiguous-framing.test.ts and smuggling.test.ts have the requests that parsers read differently, and
// slow-and-huge.test.ts those that are too long.

const slow = startBeforeAll(() => startUpstream((_request, response) => setTimeout(() => response.end('slow'), 100)));
const stream = startBeforeAll(() =>
  startRawUpstream(({ socket }) => {
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n',
    );
  }),
);

describe.each([
  ['http', ''],
  ['https', tlsLine()],
])('requests on one connection, over %s', (_scheme, tls) => {
  const world = startBeforeAll(() =>
    startRoutesWorld(
      [
        'name: public, path: /public, public: true, upstream: { url: UPSTREAM/public }',
        `name: slow, path: /slow, public: true, upstream: { url: ${slow.url} }`,
        `name: stream, path: /stream, public: true, upstream: { url: ${stream.url} }`,
        'name: api, path: /api, upstream: { url: UPSTREAM }',
      ],
      `${tls}limits: { request_headers: 64KiB }\n`,
    ),
  );
  /** The statuses of all answers that came back. */
  async function statuses(bytes: string): Promise<number[]> {
    const received = await exchangeRaw(world.url, bytes);
    return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
  const denials = async (): Promise<unknown[]> => (await world.decisions(1)).map(({ reason }) => reason);
  beforeEach(async () => {
    world.upstream.seen.length = 0;
    await world.clearLog();
  });

  test('are answered in order, each decided on by itself', async () => {
    const heads = ['/public/1', '/api/2', '/slow/3', '/public/../4'].map((target) => head(`GET ${target}`));
    expect(await statuses(heads.join('') + lastHead('GET /public/5'))).toEqual([200, 401, 200, 400, 200]);
    expect(world.upstream.seen.map(({ url }) => url).toSorted()).toEqual(['/public/1', '/public/5']);
  });

  test.each([
    ['a line that is none', head('GET /slow'), 'GARBAGE\r\n\r\n', [200, 400]],
    ['one space', head('POST /slow', 'Content-Length: 4'), 'body ', [200, 400]],
    ['a body longer than its length', head('POST /slow', 'Content-Length: 4'), 'bödy', [200, 400]],
    [
      'the body of another request',
      head('GET /slow'),
      `${head('POST /slow', 'Transfer-Encoding: chunked')}x\r\n`,
      [200, 400],
    ],
    ['bytes behind two requests', head('GET /slow').repeat(2), 'GARBAGE\r\n\r\n', [200, 200, 400]],
    ['CONNECT', head('GET /slow'), head('CONNECT gateway.test:443'), [200, 400]],
    ['an upgrade', head('GET /slow'), head('GET /slow', 'Connection: Upgrade', 'Upgrade: websocket'), [200, 400]],
  ])(
    'malformed bytes are answered behind the whole requests before them: %s',
    async (_what, whole, behind, expected) => {
      for (const pause of [false, true]) {
        await world.clearLog();
        const client = await open(world.url, pause ? whole : whole + behind);
        if (pause) setImmediate(() => client.socket.write(behind));
        await until(() => client.ended() !== undefined);
        expect([...client.received().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))).toEqual(
          expected,
        );
        const decisions = await world.decisions(expected.length);
        expect(decisions.map(({ allow }) => allow)).toEqual(expected.map((status) => status === 200));
      }
    },
  );

  test.each([
    ['malformed bytes', ['GARBAGE\r\n\r\n']],
    ['a request whose own answer is still due', [head('POST /slow', 'Transfer-Encoding: chunked'), 'x\r\n']],
  ])('%s behind a stream write nothing into it', async (_what, behind) => {
    const client = await open(world.url, head('GET /stream'));
    await client.has('3\r\n:\n\n\r\n');
    const before = client.received();
    for (const bytes of behind) client.socket.write(bytes);
    await until(() => client.ended() !== undefined);
    expect(client.received()).toBe(before);
  });

  test('a client that stays after malformed bytes is disconnected', async () => {
    const client = await open(world.url, 'GARBAGE\r\n\r\n');
    await client.has('400');
    await until(() => client.ended() === 'end');
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 400 Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: [\w-]+\r\n\r\n$/,
    );
  });

  const host = 'GET /public HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n';
  test.each([
    ['no Host', 'GET /public HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'request.malformed'],
    ['an expectation', `${host}Expect: 200-ok\r\n\r\n`, 417, 'request.expectation'],
    ['HTTP/0.9', `${host}\r\n`.replace('HTTP/1.1', 'HTTP/0.9'), 400, 'request.malformed'],
    ['HTTP/1.0 without a Host', 'GET /public/1 HTTP/1.0\r\n\r\n', 400, 'request.malformed'],
    ['another version', `${host}\r\n`.replace('HTTP/1.1', 'HTTP/2.0'), 400, 'request.malformed'],
    ['a version that is none', `${host}\r\n`.replace('HTTP/1.1', 'HTTP/1.9'), 400, 'request.malformed'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'request.malformed'],
    [
      'a second Authorization behind thousands of fields',
      `${host}Authorization: Bearer a\r\n${'a:\r\n'.repeat(3000)}Authorization: Bearer a\r\n\r\n`,
      400,
      'request.credentials',
    ],
  ])('a header section with %s gets %i', async (_what, bytes, status, reason) => {
    expect(await statuses(bytes)).toEqual([status]);
    expect(world.upstream.seen).toEqual([]);
    expect(await denials()).toEqual([reason]);
  });

  test('a body that is announced behind thousands of fields arrives', async () => {
    const fields = `Connection: close, a\r\n${'a:\r\n'.repeat(3000)}Content-Length: 3\r\n\r\nabc`;
    expect(await statuses(`POST /public HTTP/1.1\r\nHost: gateway.test\r\n${fields}`)).toEqual([200]);
    expect(world.upstream.seen[0]?.body).toBe('abc');
  });
});
