import { once } from 'node:events';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { head, open, type RawConnection, startRawUpstream } from '../../support/raw.ts';
import { sample } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { startRoutesWorld } from '../../worlds/routes.ts';
import { startBeforeAll } from '../../support/start-before.ts';

/** Of an upstream that echoes, and refuses `/refused`. */
const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered].at(-1) ?? false });
/** The targets of the handshakes that reached it. */
const handshakes: string[] = [];
let onHead: (connection: RawConnection) => void = () => {};
const raw = startBeforeAll(() => startRawUpstream((connection) => onHead(connection)));
const world = startBeforeAll(() =>
  startRoutesWorld([
    'name: socket, path: /socket, upgrade: websocket, upstream: { url: UPSTREAM }',
    `name: raw, path: /raw, upgrade: websocket, upstream: { url: ${raw.url}, timeouts: { response: 300ms } }`,
    `name: patient, path: /patient, upgrade: websocket, upstream: { url: ${raw.url} }`,
    `name: nobody, path: /nobody, upgrade: websocket, upstream: { url: http://127.0.0.1:1 }`,
  ]),
);
beforeAll(() => {
  world.upstream.server.on('upgrade', (request, socket, first) => {
    handshakes.push(request.url ?? '');
    if (request.url === '/refused') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: not you\r\n\r\nno');
      return;
    }
    sockets.handleUpgrade(request, socket, first, (webSocket) => {
      webSocket.on('message', (bytes, isBinary) => {
        const order = (bytes as Buffer).toString();
        if (order === 'close') webSocket.close(4001, 'as you wish');
        else if (order === 'die') webSocket.terminate();
        else webSocket.send(bytes, { binary: isBinary });
      });
    });
  });
});
beforeEach(async () => {
  handshakes.length = 0;
  await world.clearLog();
});

function dial(path: string, headers: Record<string, string>, protocols: string[] = []): WebSocket {
  const client = new WebSocket(`${world.url.replace('http', 'ws')}${path}`, protocols, { headers });
  client.on('error', () => {});
  onTestFinished(() => client.terminate());
  return client;
}

/** An open one to the upstream that echoes. */
async function dialled(path = '/socket', protocols: string[] = []): Promise<WebSocket> {
  const client = dial(path, await bearer(), protocols);
  await once(client, 'open');
  return client;
}

const bearer = async (claims?: Record<string, unknown>) => ({ authorization: `Bearer ${await world.token(claims)}` });
const streams = (route = 'socket'): Promise<number> => sample(world, `sallyport_open_streams{route="${route}"}`);
const answered = (route: string, status: number): Promise<number> =>
  sample(world, `sallyport_requests_total{route="${route}",method="GET",status="${status}"}`);

/** The status of a handshake that is refused. */
async function refusal(path: string): Promise<number> {
  const refused = once(dial(path, await bearer()), 'unexpected-response');
  const [, response] = (await refused) as [unknown, { statusCode: number }];
  return response.statusCode;
}

/** A handshake as bytes, with more after it. */
async function openRaw(path: string, more = ''): Promise<RawConnection> {
  const { authorization } = await bearer();
  const bytes = head(`GET ${path}`, `Authorization: ${authorization}`, ...handshake) + more;
  return open(world.url, Buffer.from(bytes, 'latin1'));
}

const handshake = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
];

// Elsewhere: test/attacks/upgrade-smuggling.test.ts (permission, malformed handshakes), stream-expiry.test.ts (the end).
describe('an open one', () => {
  test('goes both ways, text and binary, small and large', async () => {
    const client = await dialled('/socket/x?y=1&z=/../%41');
    expect(handshakes[0]).toBe('/x?y=1&z=/../%41');
    for (const message of ['hello', 'x'.repeat(200_000)]) {
      client.send(message);
      const [bytes] = (await once(client, 'message')) as [Buffer];
      expect(bytes.toString()).toBe(message);
    }
    client.send(Buffer.from([0, 255]));
    const [bytes, isBinary] = (await once(client, 'message')) as [Buffer, boolean];
    expect([[...bytes], isBinary]).toEqual([[0, 255], true]);
  });

  test('has the subprotocol that the upstream chose', async () => {
    const client = await dialled('/socket', ['one', 'two']);
    expect(client.protocol).toBe('two');
  });

  test('is counted while it is open, and as 101 when it has ended', async () => {
    await until(async () => (await streams()) === 0);
    const before = await answered('socket', 101);
    const client = await dialled();
    await until(async () => (await streams()) === 1);
    client.close();
    await until(async () => (await streams()) === 0);
    expect(await until(async () => (await answered('socket', 101)) === before + 1)).toBe(true);
  });

  test('closed by the client is closed for the upstream, with its code', async () => {
    const client = await dialled();
    const [theirs] = sockets.clients;
    const closed = once(theirs as WebSocket, 'close') as Promise<[number]>;
    client.close(4000, 'enough');
    expect((await closed)[0]).toBe(4000);
  });

  test('closed by the upstream is closed for the client, with its code', async () => {
    const client = await dialled();
    const closed = once(client, 'close') as Promise<[number, Buffer]>;
    client.send('close');
    const [code, reason] = await closed;
    expect([code, reason.toString()]).toEqual([4001, 'as you wish']);
  });

  test('ends for both when either dies', async () => {
    const one = await dialled();
    const closed = once(one, 'close');
    one.send('die');
    await closed;
    const other = await dialled();
    await until(() => sockets.clients.size === 1);
    other.terminate();
    await until(() => sockets.clients.size === 0);
    await expect.poll(() => streams()).toBe(0);
  });

  test('also for a client that never hangs up', async () => {
    const client = await openRaw('/socket');
    await client.has('101 Switching Protocols');
    client.socket.on('end', () => {}); // Half open it stays.
    for (const theirs of sockets.clients) theirs.terminate();
    await until(() => client.ended() !== undefined);
    await expect.poll(() => streams()).toBe(0);
  });

  test('takes what the client sent together with its handshake', async () => {
    const client = await openRaw('/socket', '\x81\x82\0\0\0\0hi');
    expect(await client.has('\x81\x02hi')).toBe(true);
  });
});

describe('an upstream that', () => {
  test('refuses is heard', async () => {
    const client = await openRaw('/socket/refused');
    await until(() => client.ended() !== undefined);
    expect(client.received()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(client.received()).toMatch(/x-why: not you\r\n[^]*\r\n\r\nno$/i);
    await until(async () => (await answered('socket', 403)) === 1);
    await expect.poll(() => streams()).toBe(0);
  });

  test('is not there: 502', async () => {
    expect(await refusal('/nobody')).toBe(502);
    await until(async () => (await answered('nobody', 502)) === 1);
  });

  test.each([
    ['hangs up: 502', ({ socket }: RawConnection) => socket.destroy(), 502],
    ['says nothing: 504', () => {}, 504],
    ['speaks no HTTP: 502', ({ socket }: RawConnection) => socket.end('SSH-2.0\r\n'), 502],
  ])('%s', async (_what, act, status) => {
    onHead = act;
    expect(await refusal('/raw')).toBe(status);
    await expect.poll(() => streams('raw')).toBe(0);
  });

  test('has not answered when the token ends: its connection is closed, and no stream is counted', async () => {
    onHead = () => {};
    const before = raw.connections.length;
    dial('/patient', await bearer({ exp: Date.now() / 1000 + 2.5 }));
    await until(() => raw.connections.length > before);
    const connection = raw.connections.at(-1) as RawConnection;
    await connection.has('\r\n\r\n');
    await until(() => connection.ended() !== undefined);
    await expect.poll(() => streams('patient')).toBe(0);
  });

  test('answers just when the client leaves: nothing stays counted', async () => {
    onHead = ({ socket }) => {
      client?.terminate();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    };
    const before = raw.connections.length;
    const client: WebSocket | undefined = dial('/patient', await bearer());
    await until(() => raw.connections.length > before);
    await until(() => raw.connections.at(-1)?.ended() !== undefined);
    await expect.poll(() => streams('patient')).toBe(0);
  });
});

test('an answer that a client never takes does not keep its socket', async () => {
  const client = await open(world.url, head('GET /socket', ...handshake));
  await client.has('HTTP/1.1 401 ');
  expect(await until(() => client.ended() !== undefined)).toBe(true);
});
