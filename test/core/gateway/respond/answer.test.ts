import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startUpstream } from '../../../support/upstream.ts';
import { head, open } from '../../../support/raw.ts';
import { until } from '../../../support/until.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

let authorization = '';
const upstream = startBeforeAll(startUpstream);
const world = startBeforeAll(() =>
  startRoutesWorld([
    `name: api, path: /api, methods: [GET, POST], upstream: { url: ${upstream.url} }`,
    `name: all, path: /all, upstream: { url: ${upstream.url} }`,
    `name: mcp, path: /mcp, protocol: mcp, upstream: { url: ${upstream.url} }`,
  ]),
);
beforeAll(async () => {
  authorization = `Authorization: Bearer ${await world.token()}`;
});
beforeEach(async () => {
  upstream.seen.length = 0;
  await world.clearLog();
});

/** The answer to one request, with what varies left out. */
async function answerTo(bytes: string): Promise<string> {
  const client = await open(world.url, bytes);
  await until(() => client.ended() !== undefined);
  return client
    .received()
    .replace(/X-Request-Id: [\w-]+/, 'X-Request-Id: …')
    .replace(/Date: .*/, 'Date: …');
}

test('the gateway’s own answer to HEAD has a length and no body', async () => {
  const received = await answerTo(head('HEAD /nowhere', 'Connection: close'));
  expect(received).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[^]*content-length: [1-9][^]*\r\n\r\n$/i);
});

describe('to a client that still sends', () => {
  test.each([
    ['counted', 'Content-Length: 20000000', (part: Buffer) => part],
    [
      'chunked',
      'Transfer-Encoding: chunked',
      (part: Buffer) => Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
    ],
  ])('401 arrives whole, although it reads only after it has sent: %s', async (_what, length, framed) => {
    const client = await open(world.url, head('POST /mcp', length));
    client.socket.pause();
    const part = framed(Buffer.alloc(65_536));
    for (let i = 0; i < 40; i += 1) client.socket.write(part);
    await new Promise((resolve) => setTimeout(resolve, 200));
    client.socket.resume();
    await client.has('"credentials.missing"');
    expect(client.received()).toMatch(/^HTTP\/1\.1 401 [^]*\r\nconnection: close\r\n/i);
    await until(() => client.ended() !== undefined, 'the connection to be closed');
  });

  test('a small rest is read over, and the connection serves on', async () => {
    const client = await open(world.url, head('POST /api', 'Content-Length: 60000') + 'x');
    await client.has('HTTP/1.1 401 ');
    client.socket.write(Buffer.alloc(59_999));
    client.socket.write(head('GET /api', authorization));
    expect(await client.has('{"ok":true}')).toBe(true);
  });

  test('HEAD: the answer does not wait for the rest', async () => {
    const client = await open(world.url, head('HEAD /api', 'Content-Length: 20000000') + 'x');
    await client.has('HTTP/1.1 ');
    // The connection ends when the gateway gives the rest up.
    expect(client.ended()).toBeUndefined();
  });
});
