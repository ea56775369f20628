import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { connectTo } from '../support/raw.ts';
import type { WrittenLog } from '../support/written-log.ts';

const audience = 'https://api.example';

/** A gateway before upstreams that a test brings, and the issuer that it trusts. */
export interface World extends WrittenLog, Pick<TestGateway, 'url' | 'metrics'> {
  readonly issuer: Issuer;
  readonly gateway: TestGateway;
  token(claims?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts one with `routes` in YAML, each a line: `name: x, path: /x, …`. They share an audience unless they are public.
 *
 * @param limits Lines more at the top level; with `tls` among them it is served by https.
 */
export async function startWorld(routes: readonly string[], limits = ''): Promise<World> {
  const issuer = await startIssuer();
  const lines = routes.map(
    (route) => `  - { ${route}${route.includes('public:') ? '' : `, audience: ${audience}`} }\n`,
  );
  const gateway = await startTestGateway({
    ...(/^tls:/m.test(limits) && { publicUrl: 'https://gateway.test' }),
    yaml: `${limits}
authorization_servers:
  main: { issuer: ${issuer.url}, clock_tolerance: 0s, jwt: { algorithms: [RS256] } }
routes:
${lines.join('')}`,
  });
  return {
    ...gateway,
    issuer,
    gateway,
    token: (claims = {}) => issuer.sign({ aud: audience, ...claims }),
    async close() {
      await gateway.close();
      await issuer.close();
    },
  };
}

/** The value of one sample of the metrics, by its name and labels as written; 0 where it is missing. */
export async function sample(world: World, name: string): Promise<number> {
  const line = (await world.metrics()).split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

/** Waits for `condition`, looking often. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'it to happen'): Promise<true> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

/** A connection of which a test sees every byte. */
export interface RawConnection {
  readonly socket: Socket;
  readonly received: () => string;
  /** Whether it has ended: `end` by a FIN, `reset` by an error. */
  readonly ended: () => 'end' | 'reset' | undefined;
  /** Resolves when `text` has come. */
  readonly has: (text: string | RegExp) => Promise<true>;
}

/** Connects and sends `bytes`. */
export async function open(url: string, bytes: string | Buffer): Promise<RawConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connectTo(url, resolve).once('error', reject);
  const connection = watched(socket);
  await promise;
  socket.write(bytes);
  return connection;
}

function watched(socket: Socket): RawConnection {
  let received = '';
  let ended: 'end' | 'reset' | undefined;
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('end', () => (ended ??= 'end'));
  socket.on('error', () => (ended ??= 'reset'));
  socket.on('close', () => (ended ??= 'reset'));
  return {
    socket,
    received: () => received,
    ended: () => ended,
    has: (text) =>
      until(() => (typeof text === 'string' ? received.includes(text) : text.test(received)), String(text)),
  };
}

/** An upstream that speaks whatever a test wants, and keeps what each connection said. */
export interface RawUpstream {
  readonly url: string;
  readonly connections: RawConnection[];
  readonly server: Server;
  close(): Promise<void>;
}

/** Starts one; `onHead` is called with each connection once its first header section has come. */
export async function startRawUpstream(onHead: (connection: RawConnection) => void): Promise<RawUpstream> {
  const connections: RawConnection[] = [];
  const server = createServer((socket) => {
    const connection = watched(socket);
    connections.push(connection);
    const look = (): void => {
      if (!connection.received().includes('\r\n\r\n')) return;
      socket.off('data', look);
      onHead(connection);
    };
    socket.on('data', look);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const { socket } of connections) socket.destroy();
      }),
  };
}

/** One request head, closed by an empty line. */
export function head(start: string, ...fields: readonly string[]): string {
  return [`${start} HTTP/1.1`, 'Host: gateway.test', ...fields, '', ''].join('\r\n');
}
