import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { head, open, startRawUpstream } from '../../../support/raw.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

let answer = '';
const raw = startBeforeAll(() => startRawUpstream(({ socket }) => socket.end(answer, 'latin1')));
const world = startBeforeAll(() => startRoutesWorld([`name: raw, path: /raw, upstream: { url: ${raw.url} }`]));
// upstream-request.test.ts has what goes to the upstream, response-headers.test.ts what does not reach the client.
/** What a client gets of `bytes` that the upstream sends. */
async function received(bytes: string): Promise<{ response: IncomingMessage; body: string }> {
  answer = bytes;
  const authorization = `Bearer ${await world.token()}`;
  return new Promise((resolve, reject) => {
    httpRequest(
      `${world.url}/raw`,
      { headers: { authorization }, agent: false, maxHeaderSize: 128 * 1024 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
        response.on('end', () => resolve({ response, body: Buffer.concat(chunks).toString() }));
      },
    )
      .on('error', reject)
      .end();
  });
}

describe('to the client', () => {
  test('no trailer of the upstream', async () => {
    const { response, body } = await received(
      'HTTP/1.1 200 OK\r\nTrailer: x-a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: 1\r\n\r\n',
    );
    expect([body, response.headers.trailer, response.trailers]).toEqual(['hello', undefined, {}]);
  });

  test('one Date, that of the upstream', async () => {
    const { response } = await received('HTTP/1.1 200 OK\r\nDate: then\r\nContent-Length: 0\r\n\r\n');
    expect(response.rawHeaders.filter((text) => text.toLowerCase() === 'date')).toHaveLength(1);
    expect(response.headers.date).toBe('then');
  });

  test('octets beyond ASCII as they are', async () => {
    const { response } = await received('HTTP/1.1 200 OK\r\nX-A: caf\u00e9\r\nContent-Length: 0\r\n\r\n');
    expect(response.headers['x-a']).toBe('caf\u00e9');
  });

  test.each([
    ['a usual reason phrase', 'Fine', 'Fine'],
    ['none', '', ''],
    ['one beyond ASCII, which Node could not send on', 'D\u00e9j\u00e0 vu', 'OK'],
  ])('%s', async (_what, phrase, wanted) => {
    const { response } = await received(`HTTP/1.1 200 ${phrase}\r\nContent-Length: 0\r\n\r\n`);
    expect([response.statusCode, response.statusMessage]).toEqual([200, wanted]);
  });

  test('does not forward interim answers', async () => {
    const { response, body } = await received(
      'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    expect([response.statusCode, body, response.headers['link']]).toEqual([200, 'ok', undefined]);
  });

  test.each<[what: string, start: string, fields?: readonly string[], body?: string]>([
    ['204', 'HTTP/1.1 204 No Content'],
    ['304, with the length that it would have', 'HTTP/1.1 304 Not Modified', ['Content-Length: 5', 'ETag: "x"']],
    ['an answer until the end of the connection', 'HTTP/1.0 200 OK', [], 'until the end'],
    ["a redirect is the client's to follow", 'HTTP/1.1 302 Found', ['Location: http://evil/', 'Content-Length: 0']],
    ["an upstream's own refusal", 'HTTP/1.1 401 Unauthorized', ['WWW-Authenticate: Basic', 'Content-Length: 0']],
    ['60 KiB of fields', 'HTTP/1.1 200 OK', [...Array<string>(3600).fill('X-A: 0123456789'), 'Content-Length: 0']],
  ])('%s', async (_what, start, fields = [], body = '') => {
    const bytes = [start, 'X-Kept: 1', ...fields, '', body].join('\r\n');
    const { response } = await received(bytes);
    expect([response.statusCode, response.headers['x-kept']]).toEqual([Number(start.slice(9, 12)), '1']);
  });

  test('HEAD: the fields of a GET, and no body', async () => {
    answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n';
    const authorization = `Authorization: Bearer ${await world.token()}`;
    const client = await open(world.url, head('HEAD /raw', authorization) + head('HEAD /raw'));
    await client.has('401');
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 5\r\n(?:[\w-]+: [^\r]*\r\n)*\r\nHTTP\/1\.1 401 /i,
    );
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a header section of 100 KiB', `HTTP/1.1 200 OK\r\n${'X-A: 0123456789\r\n'.repeat(6400)}\r\n`],
    [
      'a switch of protocols that nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    ],
    ['nothing', ''],
    ['half a header section', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n'],
    ['a line break in a value', 'HTTP/1.1 200 OK\r\nX-A: 1\n2: 3\r\nContent-Length: 0\r\n\r\n'],
    ['NUL in a value', 'HTTP/1.1 200 OK\r\nX-A: 1\x002\r\nContent-Length: 0\r\n\r\n'],
  ])('%s → 502', async (_what, bytes) => {
    const { response, body } = await received(bytes);
    expect(response.statusCode).toBe(502);
    expect(JSON.parse(body)).toMatchObject({ title: 'Bad gateway' });
  });
});
