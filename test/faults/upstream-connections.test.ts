import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { listen } from '../../demo/listen.ts';
import { forThisTest } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

/** The time after which the upstream closes an unused connection. */
const IDLE_MS = 2_000;
const CALLERS = 1_000;
const ROUNDS = 10;

/** An upstream that says nothing of its idle time, and closes connections without a warning. */
function closingServer(): Server {
  const server = createServer({ keepAliveTimeout: 0 }, (_, response) => {
    // Node would announce its timeout, and clients would obey.
    response.writeHead(200, { 'content-length': 2, 'keep-alive': '' }).end('ok');
  });
  server.on('connection', (socket: Socket) => socket.setTimeout(IDLE_MS, () => socket.destroy()));
  return server;
}

test(`no 502 in ${CALLERS * ROUNDS} calls to an upstream that closes connections about when they are used`, async () => {
  const server = closingServer();
  const { url, close } = await listen(server, 0);
  const world = await forThisTest(
    startWorld({ routes: [`name: api, path: /api, public: true, upstream: { url: "${url}", idle: 1s }`] }),
  );
  const statuses = new Map<number, number>();
  await Promise.all(
    Array.from({ length: CALLERS }, async (_none, caller) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        // A connection of the test itself may be reset on a busy machine.
        const { status } = await world.send('/api').catch(() => world.send('/api'));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // Around the time at which the upstream closes the connection.
        await wait(IDLE_MS - 100 + ((caller * 7 + round * 13) % 200));
      }
    }),
  );
  expect([...statuses]).toEqual([[200, CALLERS * ROUNDS]]);
  await close();
});

/** A name with several servers behind it: each connection leads to the next one, as those of a Kubernetes service. */
function balancer(pods: readonly string[]): ReturnType<typeof createTcpServer> {
  let turn = 0;
  return createTcpServer((client) => {
    const { port, hostname } = new URL(pods[(turn += 1) % pods.length] ?? '');
    const pod = connect(Number(port), hostname);
    client.pipe(pod).pipe(client);
    client.on('error', () => pod.destroy()).on('close', () => pod.destroy());
    pod.on('error', () => client.destroy()).on('close', () => client.destroy());
  });
}

test('a second pod behind one name gets its share within two lifetimes of connections', async () => {
  const counts = [0, 0];
  const pods = await Promise.all(
    counts.map(async (_none, at) =>
      listen(
        createServer((_, response) => {
          counts[at] = (counts[at] ?? 0) + 1;
          response.end('ok');
        }),
        0,
      ),
    ),
  );
  const [first, second] = pods as [(typeof pods)[0], (typeof pods)[0]];
  const urls = [first.url];
  const name = balancer(urls).listen(0, '127.0.0.1');
  await new Promise((resolve) => void name.once('listening', resolve));
  const { port } = name.address() as { port: number };
  const world = await forThisTest(
    startWorld({
      routes: [
        `name: api, path: /api, public: true, upstream: { url: "http://127.0.0.1:${port}", idle: 1m, connection_lifetime: 1s }`,
      ],
    }),
  );
  const calls = async (forMs: number): Promise<void> => {
    const end = performance.now() + forMs;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (performance.now() < end) {
          expect((await world.send('/api')).status).toBe(200);
          await wait(20);
        }
      }),
    );
  };
  await calls(300);
  expect(counts[1]).toBe(0);
  urls.push(second.url);
  await calls(2_000);
  counts.fill(0);
  await calls(1_000);
  const [one = 0, other = 0] = counts;
  expect(other / (one + other)).toBeGreaterThan(0.25);
  name.close();
  await Promise.all(pods.map((pod) => pod.close()));
});
