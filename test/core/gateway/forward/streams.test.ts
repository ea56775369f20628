import { describe, expect, test } from 'vitest';
import { head, open, type RawConnection, startRawUpstream } from '../../../support/raw.ts';
import { sample } from '../../../support/gateway.ts';
import { until } from '../../../support/until.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

const chunkedAs = (type: string): string =>
  `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
const [eventStream, chunked] = [chunkedAs('text/event-stream'), chunkedAs('application/x-ndjson')];

/** What the upstream says first. */
let beginning = eventStream;
const upstream = startBeforeAll(() => startRawUpstream(({ socket }) => socket.write(beginning)));
const world = startBeforeAll(() =>
  startRoutesWorld([`name: stream, path: /stream, upstream: { url: ${upstream.url} }`]),
);

/** A client whose request has reached the upstream, and the connection on which it did. */
async function opened(
  claims: Record<string, unknown> = {},
  start = 'GET /stream',
): Promise<[RawConnection, RawConnection]> {
  const before = upstream.connections.length;
  const client = await open(world.url, head(start, `Authorization: Bearer ${await world.token(claims)}`));
  await until(() => upstream.connections.length > before);
  const connection = upstream.connections.at(-1);
  if (connection === undefined) throw new Error('no connection');
  await connection.has('\r\n\r\n');
  return [client, connection];
}

const streams = (): Promise<number> => sample(world, 'sallyport_open_streams{route="stream"}');

// test/attacks/stream-expiry.test.ts has its end with its token.
test('an event stream opens before its first event, and each event arrives before the next is written', async () => {
  beginning = eventStream;
  const [client, { socket }] = await opened();
  await client.has('\r\n\r\n');
  expect(client.received()).toMatch(/transfer-encoding: chunked/i);
  for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
    socket.write(`9\r\n${event}\r\n`);
    await client.has(event);
  }
  expect(await streams()).toBe(1);
  socket.write('0\r\n\r\n');
  await client.has('\r\n0\r\n\r\n');
  await expect.poll(() => streams()).toBe(0);
});

describe('any answer that is not over', () => {
  test('breaks off an answer without a length when its token ends, so that it does not look complete', async () => {
    const exp = Date.now() / 1000 + 2.5;
    const connections: [RawConnection, RawConnection][] = [];
    for (const framing of ['Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n', '\r\nhalf']) {
      beginning = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\n${framing}`;
      connections.push(await opened({ exp }));
    }
    for (const [client, connection] of connections) {
      await client.has('half');
      await until(() => client.ended() !== undefined, 'the answer to break off');
      expect(Date.now() / 1000).toBeGreaterThan(exp - 0.05);
      expect(client.received()).not.toContain('\r\n0\r\n\r\n');
      await until(() => connection.ended() !== undefined, 'the upstream to be told');
    }
  });

  test('is finished after its token where it has a length: as much was decided on', async () => {
    beginning = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nhalf';
    const exp = Date.now() / 1000 + 2.5;
    const [client, { socket }] = await opened({ exp });
    await client.has('half');
    await until(() => Date.now() / 1000 > exp + 0.1, 'the token to expire');
    socket.end('half');
    expect(await client.has('halfhalf')).toBe(true);
  });

  test('shows its header section while its body is still awaited', async () => {
    beginning = chunked;
    const [client, { socket }] = await opened();
    await client.has('\r\n\r\n');
    socket.write('2\r\n1\n\r\n');
    expect(await client.has('1\n')).toBe(true);
  });

  test.each([
    ['an event stream', eventStream],
    ['a counted body', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nhalf'],
    ['nothing yet', ''],
  ])('R-141: %s: a client that leaves is reported upstream at once', async (_what, bytes) => {
    beginning = bytes;
    const [client, connection] = await opened();
    if (bytes !== '') await client.has('\r\n\r\n');
    client.socket.destroy();
    await until(() => connection.ended() !== undefined);
    await expect.poll(() => streams()).toBe(0);
  });

  test.each([
    ['an event stream', `${eventStream}9\r\ndata: 1\n\n\r\n`],
    ['a chunked body', `${chunked}4\r\nhalf\r\n`],
    ['half a chunk', `${chunked}8\r\nhalf`],
    ['a counted body', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nhalf'],
  ])('%s: an upstream that dies is no end', async (_what, bytes) => {
    for (const die of ['destroy', 'resetAndDestroy'] as const) {
      beginning = bytes;
      const [client, { socket }] = await opened();
      await client.has(/half|data: 1/);
      socket[die]();
      await until(() => client.ended() !== undefined);
      expect(client.received()).not.toContain('\r\n0\r\n\r\n');
      await expect.poll(() => streams()).toBe(0);
    }
  });

  test('a chunk that is none is no end either', async () => {
    beginning = `${chunked}4\r\nhalf\r\nzzz\r\n`;
    const [client] = await opened();
    await until(() => client.ended() !== undefined);
    expect(client.received()).not.toContain('\r\n0\r\n\r\n');
  });
});

test('a slow client stalls the upstream, and costs bounded memory', async () => {
  beginning = chunked;
  const [client, { socket }] = await opened();
  await client.has('\r\n\r\n');
  client.socket.pause();
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')]);
  let written = 0;
  const pump = (): void => {
    while (written < 200_000_000 && socket.write(chunk)) written += chunk.length;
  };
  socket.on('drain', pump);
  pump();
  let last = -1;
  while (last !== written) {
    last = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(written).toBeLessThan(50_000_000);
  client.socket.resume();
  await until(() => written > last + 10_000_000, 'the flow to go on');
  client.socket.destroy();
  await until(() => socket.destroyed);
});
