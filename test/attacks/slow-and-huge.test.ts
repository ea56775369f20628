import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { head, lastHead, open } from '../support/raw.ts';
import { until } from '../support/until.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/limits has bodies that are too long, too deep or too wide.

describe.each(['http', 'https'])('over %s', (scheme) => {
  /** The listener that clients reach. */
  let server: Server;
  const world = startBeforeAll(() => startAttackWorld({ tls: scheme === 'https' }));
  beforeAll(async () => {
    const { port } = new URL(world.url);
    const seen = (message: unknown): void => {
      const { server: asked } = message as { server: Server };
      if ((asked.address() as AddressInfo).port === Number(port)) server = asked;
    };
    subscribe('http.server.request.start', seen);
    await world.refuses(lastHead('GET /nowhere'), 404);
    unsubscribe('http.server.request.start', seen);
  });

  test('R-154: answers 408 to header sections that arrive too slowly', async () => {
    const before = server.headersTimeout;
    expect(before).toBeLessThanOrEqual(60_000);
    server.headersTimeout = 200;
    const begun = [
      'G',
      'GET /public HTTP/1.1\r\n',
      'GET /public HTTP/1.1\r\nHost: gateway.test\r\nX-A: ',
      head('GET /public').slice(0, -2),
    ];
    await world.gateway.clearLog();
    const clients = await Promise.all(begun.map((bytes) => open(world.url, bytes)));
    const dribble = setInterval(() => clients.forEach(({ socket }) => socket.writable && socket.write('a')), 50);
    await until(() => clients.every((client) => client.ended() !== undefined), 'slow clients to be shown out');
    clearInterval(dribble);
    server.headersTimeout = before;
    for (const client of clients.slice(1)) expect(client.received()).toMatch(/^HTTP\/1\.1 408 /);
    const reasons = (await world.gateway.decisions(3)).map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'request.timeout').length).toBeGreaterThanOrEqual(3);
  });

  test('R-154: answers 431 to endless header sections', async () => {
    for (const lines of [
      [`X-A: ${'a'.repeat(20_000)}`],
      [`${'A'.repeat(20_000)}: x`],
      Array.from({ length: 4_000 }, (_, i) => `X-${i}: 1`),
      [`Authorization: Bearer ${'a'.repeat(20_000)}`],
      [`Cookie: ${'a=b; '.repeat(5_000)}`],
    ]) {
      await world.refuses(lastHead('GET /public', ...lines), 431, 'request.header_too_large');
    }
    await world.refuses(lastHead(`GET /${'a'.repeat(20_000)}`), 431, 'request.header_too_large');
  });

  test('reads every small field that fits', async () => {
    const lines = Array.from({ length: 800 }, (_, i) => `X${i}: 1`);
    const { wire } = await world.forwards(lastHead('GET /public', ...lines), 'GET /public');
    expect(wire.join('').match(/^X\d+: 1\r$/gm)).toHaveLength(800);
  });

  test('bounds chunk extensions and trailers, and forwards no complete request', async () => {
    const begun = head('POST /public', 'Transfer-Encoding: chunked');
    for (const bytes of [
      `3;${'a'.repeat(100_000)}\r\nabc\r\n0\r\n\r\n`,
      `3\r\nabc\r\n0\r\n${'X-A: 1\r\n'.repeat(10_000)}\r\n`,
    ]) {
      world.upstream.seen.length = 0;
      const client = await open(world.url, begun + bytes);
      await until(() => client.ended() !== undefined, 'it to be shown out');
      expect(client.received()).toMatch(/^HTTP\/1\.1 (?:400|431) /);
      expect(world.upstream.seen).toEqual([]);
    }
  });

  test('forwards no complete request if the client leaves in the middle of a body', async () => {
    for (const [target, framing] of [
      ['/mcp', 'Content-Length: 100'],
      ['/mcp', 'Transfer-Encoding: chunked'],
      ['/public', 'Content-Length: 100'],
      ['/public', 'Transfer-Encoding: chunked'],
    ] as const) {
      world.upstream.seen.length = 0;
      const lines = [world.authorization, 'Content-Type: application/json', framing];
      const begun = framing.startsWith('T') ? '3\r\n{"a\r\n' : '{"a';
      const client = await open(world.url, head(`POST ${target}`, ...lines) + begun);
      client.socket.destroy();
      await until(() => client.ended() !== undefined);
      // What was begun upstream breaks off there as well.
      await until(() => world.upstream.sockets.size === 0 || world.upstream.seen.length === 0);
      expect(world.upstream.seen).toEqual([]);
    }
    await world.gateway.line({ reason: 'body.incomplete' });
  });
});
