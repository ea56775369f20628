import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { head, open, type RawConnection, startRawUpstream } from '../../../support/raw.ts';
import { sample } from '../../../support/gateway.ts';
import { until } from '../../../support/until.ts';
import { forThisTest, startBeforeAll } from '../../../support/start-before.ts';
import { sendJson } from '../../../support/upstream.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';

let onHead: (connection: RawConnection) => unknown = () => {};
let authorization = '';
const raw = startBeforeAll(() => startRawUpstream((connection) => void onHead(connection)));
const world = startBeforeAll(() =>
  startRoutesWorld([
    // Another process could take a free port before the call. Port 1 needs a privilege, and no service uses it.
    'name: nobody, path: /nobody, upstream: { url: http://127.0.0.1:1 }',
    'name: unknown, path: /unknown, upstream: { url: http://nowhere.invalid }',
    `name: raw, path: /raw, upstream: { url: ${raw.url}, timeouts: { connect: 5s, response: 1s } }`,
    'name: living, path: /living, upstream: { url: UPSTREAM }',
    // TEST-NET-1, RFC 5737: nobody answers there.
    'name: far, path: /far, upstream: { url: http://192.0.2.1, timeouts: { connect: 200ms } }',
  ]),
);
beforeAll(async () => {
  authorization = `Authorization: Bearer ${await world.token()}`;
});
beforeEach(async () => {
  await world.clearLog();
});
// A connection that the gateway keeps would carry the next request, past `onHead`.
afterEach(async () => {
  for (const { socket } of raw.connections) socket.destroy();
  await until(() => raw.connections.every(({ ended }) => ended() !== undefined));
});

const failures = async (): Promise<unknown[]> =>
  (await world.lines()).filter(({ msg }) => msg === 'request failed').map(({ reason }) => reason);

const closing = 'HTTP/1.1 200 OK\r\nConnection: close\r\n';

/** Whether a connection still serves. */
async function serves(client: RawConnection): Promise<void> {
  const before = client.received().length;
  client.socket.write(head('GET /living/next', authorization));
  await until(() => client.received().slice(before).includes('{"ok":true}'), 'the next request to be served');
}

describe('before an answer', () => {
  test.each(['/nobody', '/unknown'])('nobody listens at %s → 502', async (path) => {
    const client = await open(world.url, head(`GET ${path}`, authorization));
    await client.has('HTTP/1.1 502 ');
    expect(await failures()).toEqual(['upstream.unreachable']);
    await serves(client);
  });

  test('answers 504 if the upstream is silent, and 502 if the network reports it unreachable', async () => {
    const client = await open(world.url, head('GET /far', authorization));
    expect(await client.has(/HTTP\/1\.1 50[24] /)).toBe(true);
  });

  test.each([
    ['hangs up', ({ socket }: RawConnection) => socket.end(), 502, 'upstream.unreachable'],
    ['resets', ({ socket }: RawConnection) => socket.resetAndDestroy(), 502, 'upstream.unreachable'],
    ['says nothing', () => {}, 504, 'upstream.timeout'],
    [
      'sends an answer with a length that is none',
      ({ socket }: RawConnection) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\na'),
      502,
      'upstream.invalid',
    ],
    [
      'sends an answer with two lengths',
      ({ socket }: RawConnection) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
      502,
      'upstream.invalid',
    ],
    [
      'sends an answer with a negative length',
      ({ socket }: RawConnection) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'),
      502,
      'upstream.invalid',
    ],
    [
      'says only "wait"',
      ({ socket }: RawConnection) => socket.write('HTTP/1.1 102 P\r\n\r\n'),
      504,
      'upstream.timeout',
    ],
  ])('the upstream %s', async (_what, act, status, reason) => {
    onHead = act;
    const client = await open(world.url, head('POST /raw', authorization, 'Content-Length: 4') + 'body');
    await client.has(`HTTP/1.1 ${status} `);
    expect(await failures()).toEqual([reason]);
    // The refusal of a test before may be logged late.
    const own = (await world.decisions(1)).filter(({ route }) => route === 'raw');
    expect(own.map(({ allow }) => allow)).toEqual([true]);
    await serves(client);
  });
});

describe('an upload', () => {
  test.each([
    ['chunked', 'Transfer-Encoding: chunked', '4\r\nbody\r\n'],
    ['counted', 'Content-Length: 100000000', 'body'],
  ])('%s: 502 where nobody is there or the upstream dies in the middle', async (_what, length, part) => {
    onHead = ({ socket }) => setTimeout(() => socket.resetAndDestroy(), 20);
    for (const path of ['/nobody', '/raw']) {
      const client = await open(world.url, head(`POST ${path}`, authorization, length));
      client.socket.write(part);
      await client.has('HTTP/1.1 502 ');
      expect(await client.has('"upstream.unreachable"')).toBe(true);
      client.socket.write(part);
    }
  });

  test('a client that writes on before it reads gets the answer all the same', async () => {
    const client = await open(world.url, head('POST /nobody', authorization, 'Content-Length: 3000000'));
    client.socket.write(Buffer.alloc(3_000_000));
    await until(() => client.socket.writableLength === 0, 'all to be taken');
    await client.has('HTTP/1.1 502 ');
    expect(client.ended()).not.toBe('reset');
  });

  test('a small one is read over, and the connection serves on', async () => {
    const client = await open(world.url, head('POST /nobody', authorization, 'Content-Length: 60000'));
    expect(await client.has('HTTP/1.1 502 ')).toBe(true);
    client.socket.write(Buffer.alloc(60_000));
    await serves(client);
  });

  // test/attacks/slow-and-huge.test.ts has a client that leaves in the middle.
  test('an early answer goes out while the client still sends, and the connection serves on', async () => {
    onHead = ({ socket }) => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge');
    const client = await open(world.url, head('POST /raw', authorization, 'Content-Length: 2000000') + 'x');
    expect(await client.has('\r\n\r\nlarge')).toBe(true);
    client.socket.write(Buffer.alloc(1_999_999));
    await serves(client);
  });

  // Each client in its turn, since the fault depends on which of both the system reports first.
  test.each([413, 401, 403, 429])(
    'an answer %i of an upstream that closes without reading reaches the client',
    async (status) => {
      onHead = ({ socket }) =>
        socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`, () => socket.destroy());
      for (let client = 0; client < 30; client += 1) {
        const { socket, received, has } = await open(
          world.url,
          head('POST /raw', authorization, 'Content-Length: 3000000'),
        );
        socket.on('error', () => {}).write(Buffer.alloc(3_000_000));
        await has(/^HTTP\/1\.1 \d+ /);
        expect(received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
        socket.destroy();
      }
      expect(await failures()).toEqual([]);
    },
  );

  test('but one that never ends is cut off', async () => {
    onHead = ({ socket }) => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge');
    const client = await open(world.url, head('POST /raw', authorization, 'Transfer-Encoding: chunked') + '1\r\nx\r\n');
    await client.has('\r\n\r\nlarge');
    expect(await until(() => client.ended() !== undefined, 'the connection to end')).toBe(true);
  });

  test('answer and body may overlap', async () => {
    onHead = ({ socket }) => socket.write(`${closing}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`);
    const client = await open(world.url, head('POST /raw', authorization, 'Transfer-Encoding: chunked') + '1\r\nx\r\n');
    await client.has('1\r\na\r\n');
    const { socket, received } = raw.connections.at(-1) as RawConnection;
    client.socket.write('3\r\nyyy\r\n');
    await until(() => received().includes('yyy'));
    socket.write('1\r\nb\r\n');
    await client.has('1\r\nb\r\n');
    client.socket.write('0\r\n\r\n');
    await until(() => received().endsWith('\r\n0\r\n\r\n'));
    socket.write('0\r\n\r\n');
    expect(await client.has('\r\n0\r\n\r\n')).toBe(true);
    await serves(client);
  });

  test('an upstream that does not read stalls the client', async () => {
    onHead = ({ socket }) => socket.pause();
    const stalled = await open(world.url, head('PUT /raw', authorization, 'Content-Length: 200000000'));
    let written = 0;
    const chunk = Buffer.alloc(65_536);
    const pump = (): void => {
      while (written < 190_000_000 && stalled.socket.write(chunk)) written += chunk.length;
    };
    stalled.socket.on('drain', pump);
    pump();
    await stalled.has('HTTP/1.1 504 ');
    expect(written).toBeLessThan(50_000_000);
  });

  test('one that takes longer than the time to answer is none that hangs', async () => {
    onHead = ({ socket, has }) => {
      void has('0\r\n\r\n').then(() => socket.write(`${closing}Content-Length: 4\r\n\r\ndone`));
    };
    const client = await open(world.url, head('POST /raw', authorization, 'Transfer-Encoding: chunked'));
    for (let i = 0; i < 5; i += 1) {
      client.socket.write('1\r\nx\r\n');
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    client.socket.write('0\r\n\r\n');
    expect(await client.has('\r\n\r\ndone')).toBe(true);
  });
});

describe('RFC 9110 §15.2: interim answers that were not asked for', () => {
  const go = 'HTTP/1.1 100 Continue\r\n\r\n';
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n!!';

  test.each([
    ['one', [go + final]],
    ['several, of which one is another', [`${go}HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n${go}${final}`]],
    ['in pieces', [...(go + go).split(''), final]],
    ['one behind an empty line', [`\r\n${go}${final}`]],
    ['none, and an answer behind empty lines', [`\r\n\n\r${final}`]],
    ['one, and an answer behind an empty line', [`${go}\r\n${final}`]],
    ['none, and an answer behind an empty line', [`\r\n${final}`]],
  ])('are dropped: %s', async (_what, parts) => {
    onHead = async ({ socket }) => {
      for (const part of parts) {
        await new Promise((written) => socket.write(part, written));
        await new Promise(setImmediate);
      }
    };
    const client = await open(world.url, head('POST /raw', authorization, 'Content-Length: 4') + 'body');
    await client.has('!!');
    expect(client.received().split('\r\n\r\n', 1)[0]).toMatch(/^HTTP\/1\.1 200 /);
    expect(client.received().endsWith(final.slice(final.indexOf('\r\n\r\n')))).toBe(true);
    await serves(client);
  });
});

describe('a kept connection', () => {
  test('reuses a connection, and survives one that the upstream closed in the meantime', async () => {
    const before = raw.connections.length;
    onHead = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const client = await open(world.url, head('GET /raw', authorization));
    await client.has('\r\n\r\nok');
    raw.connections.at(-1)?.socket.destroy();
    client.socket.write(head('POST /raw', authorization, 'Content-Length: 1') + 'x');
    await until(() => client.received().split('\r\n\r\nok').length === 3, 'the second answer');
    expect(raw.connections.length).toBe(before + 2);
  });

  test("bytes that the upstream sends unasked are nobody's answer", async () => {
    onHead = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison');
    };
    const client = await open(world.url, head('GET /raw/1', authorization));
    await client.has(/ok|50[24]/);
    for (let i = 0; i < 5; i += 1) {
      const before = client.received().length;
      client.socket.write(head('GET /raw/2', authorization));
      await until(() => /ok|50[24]/.test(client.received().slice(before)));
    }
    expect(client.received()).not.toContain('poison');
  });
});

test('a client that left while its token was looked at costs the upstream nothing', async () => {
  const held: (() => void)[] = [];
  const own = await forThisTest(startRoutesWorld([`name: raw, path: /raw, upstream: { url: ${raw.url} }`]));
  const { keys } = own.issuer;
  own.issuer.intercept = (request, response) => {
    if (request.url === '/jwks') held.push(() => sendJson(response, 200, { keys }));
    return request.url === '/jwks';
  };
  const before = raw.connections.length;
  const fields = [`Authorization: Bearer ${await own.token()}`, 'Content-Length: 4'];
  const client = await open(own.url, `${head('POST /raw', ...fields)}body`);
  await until(() => held.length > 0, 'its token to be looked at');
  const gone = 'sallyport_requests_total{route="raw",method="POST",status="499"}';
  client.socket.destroy();
  await until(async () => (await sample(own, gone)) === 1, 'the gateway to see that the client left');
  for (const release of held) release();
  await own.decisions(1);
  expect(raw.connections.length).toBe(before);
});

test('a client of HTTP/1.0, which knows no end but that of its connection, sees a reset', async () => {
  onHead = ({ socket }) => socket.write(`${closing}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`);
  const request = `GET /raw HTTP/1.0\r\nHost: gateway.test\r\n${authorization}\r\n\r\n`;
  const client = await open(world.url, request);
  await client.has('half');
  raw.connections.at(-1)?.socket.destroy();
  await until(() => client.ended() !== undefined);
  expect(client.ended()).toBe('reset');
});
