import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exchangeRaw, head, open, type RawUpstream, startRawUpstream } from '../../support/raw.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { tlsLine } from '../../support/certificates.ts';
import { until } from '../../support/until.ts';
import { type RoutesWorld, startRoutesWorld } from '../../worlds/routes.ts';

describe.each([
  ['http', ''],
  ['https', tlsLine()],
])('%s', (_scheme, tls) => {
  let upstream: Upstream;
  let slow: Upstream;
  let stream: RawUpstream;
  let world: RoutesWorld;
  beforeAll(async () => {
    upstream = await startUpstream();
    slow = await startUpstream((_request, response) => setTimeout(() => response.end('slow'), 100));
    stream = await startRawUpstream(({ socket }) => {
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n',
      );
    });
    world = await startRoutesWorld(
      [
        `name: public, path: /public, public: true, upstream: { url: ${upstream.url}/public }`,
        `name: slow, path: /slow, public: true, upstream: { url: ${slow.url} }`,
        `name: stream, path: /stream, public: true, upstream: { url: ${stream.url} }`,
        `name: socket, path: /socket, public: true, upgrade: websocket, upstream: { url: ${upstream.url} }`,
        `name: api, path: /api, upstream: { url: ${upstream.url} }`,
        `name: mcp, path: /mcp, protocol: mcp, upstream: { url: ${upstream.url} }`,
      ],
      `${tls}limits: { request_headers: 64KiB }\n`,
    );
  });
  afterAll(async () => {
    await world.close();
    await Promise.all([upstream.close(), slow.close(), stream.close()]);
  });
  beforeEach(async () => {
    upstream.seen.length = 0;
    await world.clearLog();
  });

  /** The statuses of all answers that came back. */
  async function statuses(bytes: string): Promise<number[]> {
    const received = await exchangeRaw(world.url, bytes, 400);
    return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  const inner = 'GET /public/inner HTTP/1.1\r\nHost: gateway.test\r\n\r\n';
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const bodies = (): unknown => Object.fromEntries(upstream.seen.map(({ url, body }) => [url, body]));
  const denials = async (): Promise<unknown[]> => (await world.decisions(1)).map(({ reason }) => reason);

  describe('a request that two readers could end at different places', () => {
    test.each([
      ['both lengths', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
      ['both, the other way round', ['Transfer-Encoding: chunked', 'Content-Length: 4']],
      ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
      ['the same length twice', ['Content-Length: 4', 'Content-Length: 4']],
      ['two in one', ['Content-Length: 4, 4']],
      ['a signed length', ['Content-Length: +4']],
      ['a hexadecimal one', ['Content-Length: 0x4']],
      ['a negative one', ['Content-Length: -1']],
      ['an empty one', ['Content-Length:']],
      ['an endless one', ['Content-Length: 99999999999999999999']],
      ['a coding after chunked', ['Transfer-Encoding: chunked, identity']],
      ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
      ['chunked twice in one', ['Transfer-Encoding: chunked, chunked']],
      ['a coding before chunked', ['Transfer-Encoding: gzip, chunked']],
      ['another coding', ['Transfer-Encoding: gzip']],
      ['identity', ['Transfer-Encoding: identity']],
      ['a quoted coding', ['Transfer-Encoding: "chunked"']],
      ['a misspelt one', ['Transfer-Encoding: xchunked']],
      ['a vertical tab', ['Transfer-Encoding: \x0bchunked']],
      ['a space before the colon', ['Transfer-Encoding : chunked']],
      ['a folded line', ['X-A: 1', ' Transfer-Encoding: chunked']],
      ['a line that is only folded', ['Transfer-Encoding:', ' chunked']],
      ['a bare line feed', ['X-A: 1\nTransfer-Encoding: chunked']],
      ['a bare carriage return', ['X-A: 1\rTransfer-Encoding: chunked']],
      ['NUL in a value', ['X-A: 1\x002']],
      ['no colon', ['X-A']],
      ['no name', [': x']],
    ])('%s → 400, and nothing goes on', async (_what, fields) => {
      expect(await statuses(head('POST /public', ...fields) + chunk(inner) + '0\r\n\r\n')).toEqual([400]);
      expect(upstream.seen).toEqual([]);
      expect(String((await denials())[0])).toMatch(/^request\.(?:malformed|framing|duplicate_header)$/);
    });

    test.each([
      ['lines that end with a line feed', `GET /public HTTP/1.1\nHost: gateway.test\n\n`],
      ['an end that is a line feed', `GET /public HTTP/1.1\r\nHost: gateway.test\r\n\n`],
      ['a length of a chunk that is none', head('POST /public', 'Transfer-Encoding: chunked') + 'x\r\n'],
      [
        'a chunk that is longer than it says',
        head('POST /public', 'Transfer-Encoding: chunked') + '3\r\nabcd\r\n0\r\n\r\n',
      ],
      ['a chunk that ends with a line feed', head('POST /public', 'Transfer-Encoding: chunked') + '3\nabc\n0\n\n'],
    ])('%s → 400, and nothing whole goes on', async (_what, bytes) => {
      expect(await statuses(bytes)).toEqual([400]);
      expect(upstream.seen).toEqual([]);
    });
  });

  describe('a second request within a body stays there', () => {
    const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET', 'PROPFIND', 'QUERY'];

    test.each(methods)('%s, counted', async (method) => {
      const bytes = head(`${method} /public/outer`, `Content-Length: ${inner.length}`) + inner;
      expect(await statuses(bytes + head('GET /public/next'))).toEqual([200, 200]);
      expect(bodies()).toEqual({ '/public/outer': inner, '/public/next': '' });
      const outer = upstream.seen.find(({ url }) => url === '/public/outer');
      expect(outer?.headers['content-length']).toBe(String(inner.length));
    });

    test.each(methods)('%s, chunked', async (method) => {
      const bytes = head(`${method} /public/outer`, 'Transfer-Encoding: chunked') + chunk(inner) + '0\r\n\r\n';
      expect(await statuses(bytes + head('GET /public/next'))).toEqual([200, 200]);
      expect(bodies()).toEqual({ '/public/outer': inner, '/public/next': '' });
    });

    test('HEAD, whose answer has no body', async () => {
      const bytes = head('HEAD /public/outer', `Content-Length: ${inner.length}`) + inner;
      expect(await statuses(bytes)).toEqual([200]);
      expect(upstream.seen.map(({ url }) => url)).toEqual(['/public/outer']);
    });

    test('chunks with extensions and trailers: neither goes on', async () => {
      const bytes = `${head('POST /public', 'Transfer-Encoding: chunked', 'Trailer: x-auth-subject')}3;a=b\r\nabc\r\n0\r\nX-Auth-Subject: mallory\r\n\r\n`;
      expect(await statuses(bytes)).toEqual([200]);
      expect(upstream.seen[0]).toMatchObject({ body: 'abc' });
      expect(upstream.seen[0]?.rawHeaders.join()).not.toMatch(/trailer|subject/i);
    });

    test('a refused body is drained: a request within it is not served', async () => {
      const bytes = head('POST /api', `Content-Length: ${inner.length}`) + inner;
      expect(await statuses(bytes + head('GET /public/next'))).toEqual([401, 200]);
      expect(upstream.seen.map(({ url }) => url)).toEqual(['/public/next']);
    });

    test.each(['GET', 'DELETE'])('mcp: a %s with one is refused', async (method) => {
      const authorization = `Authorization: Bearer ${await world.token()}`;
      expect(await statuses(head(`${method} /mcp`, authorization, 'Content-Length: 3') + 'abc')).toEqual([400]);
      expect(await denials()).toEqual(['request.framing']);
    });
  });

  describe('requests on one connection', () => {
    test('are answered in order, each decided on by itself', async () => {
      const bytes =
        head('GET /public/1') +
        head('GET /api/2') +
        head('GET /slow/3') +
        head('GET /public/../4') +
        head('GET /public/5');
      expect(await statuses(bytes)).toEqual([200, 401, 200, 400, 200]);
      expect(upstream.seen.map(({ url }) => url).toSorted()).toEqual(['/public/1', '/public/5']);
    });

    test('none is served behind one that closes it', async () => {
      expect(await statuses(head('GET /public/1', 'Connection: close') + head('GET /public/2'))).toEqual([200]);
      expect(upstream.seen.map(({ url }) => url)).toEqual(['/public/1']);
    });

    test('HTTP/1.0 is served, once', async () => {
      const request = 'GET /public/1 HTTP/1.0\r\nHost: gateway.test\r\n\r\n';
      expect(await statuses(request + request)).toEqual([200]);
      expect(await statuses('GET /public/1 HTTP/1.0\r\n\r\n')).toEqual([400]);
    });

    test('malformed bytes behind a request that waits: no answer that would be taken for its own', async () => {
      const client = await open(world.url, `${head('GET /slow')}GARBAGE\r\n\r\n`);
      await until(() => client.ended() !== undefined);
      expect(client.received()).toBe('');
      expect(await denials()).toContain('request.malformed');
    });

    test('malformed bytes behind a stream: nothing is written into it', async () => {
      const client = await open(world.url, head('GET /stream'));
      await client.has('3\r\n:\n\n\r\n');
      const before = client.received();
      client.socket.write('GARBAGE\r\n\r\n');
      await until(() => client.ended() !== undefined);
      expect(client.received()).toBe(before);
    });

    test('nor with a request between them, whose own answer is still due', async () => {
      const client = await open(world.url, head('GET /stream'));
      await client.has('3\r\n:\n\n\r\n');
      const before = client.received();
      client.socket.write(head('POST /slow', 'Transfer-Encoding: chunked'));
      client.socket.write('x\r\n');
      await until(() => client.ended() !== undefined);
      expect(client.received()).toBe(before);
    });

    test('an upgrade behind a request that waits ends the connection, not the process', async () => {
      const handshake = [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Key: x',
        'Sec-WebSocket-Version: 13',
      ];
      const client = await open(world.url, head('GET /slow') + head('GET /socket', ...handshake));
      await until(() => client.ended() !== undefined);
      expect(client.received()).not.toContain('101');
      expect(await denials()).toContain('request.framing');
      expect(await statuses(head('GET /public'))).toEqual([200]);
    });

    test('after a refusal of malformed bytes, a client that stays is disconnected', async () => {
      const client = await open(world.url, 'GARBAGE\r\n\r\n');
      await client.has('400');
      await until(() => client.ended() === 'end');
      expect(client.received()).toMatch(
        /^HTTP\/1\.1 400 Refused\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: [\w-]+\r\n\r\n$/,
      );
    });
  });
});
