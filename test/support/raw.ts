import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { onTestFinished } from 'vitest';
import { pem } from './certificates.ts';
import { until } from './until.ts';

/**
 * Connects to the host and port of a URL; over TLS for `https:`, where the certificates of the tests are trusted.
 *
 * @param localAddress The address of the client; default: the system's choice.
 */
function connectTo(url: string, onConnect: () => void, localAddress?: string): Socket {
  const { protocol, hostname: host, port } = new URL(url);
  const options = { host, port: Number(port), ...(localAddress !== undefined && { localAddress }) };
  return protocol === 'https:' ? connectSecure({ ...options, ca: pem('ca') }, onConnect) : connect(options, onConnect);
}

/** The longest wait for the first byte of a peer, on a busy machine. */
const PATIENCE_MS = 10_000;
/** A pause is measured in steps, so that a stalled process has waited for only one of them. */
const STEPS = 8;

/**
 * Sends bytes as they are and returns what comes back until the peer ends, or `quietMs` pass without a byte after the
 * first.
 */
export function exchangeRaw(url: string, bytes: string | Buffer, quietMs?: number): Promise<string> {
  return exchange(url, (socket) => socket.write(bytes), quietMs);
}

function exchange(url: string, send: (socket: Socket) => void, quietMs = 400): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    let quiet = 0;
    const socket = connectTo(url, () => send(socket));
    const watch = setInterval(() => {
      quiet++;
      if (quiet > (received === '' ? (STEPS * PATIENCE_MS) / quietMs : STEPS)) socket.destroy();
    }, quietMs / STEPS);
    socket.on('data', (chunk) => {
      quiet = 0;
      received += chunk.toString('latin1');
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearInterval(watch);
      resolve(received);
    });
  });
}

/** An address of this machine that no other client of the tests uses. */
const OTHER_CLIENT = '127.0.0.9';
/** More requests than the gateway begins at once if the addresses of clients compete. */
const OTHERS = 8;

/**
 * Sends bytes as they are, together with `request` on connections of another client: the gateway has parsed all of the
 * bytes before it begins the first request in them. Returns the same as {@link exchangeRaw}.
 */
export async function exchangeInTurn(url: string, bytes: string | Buffer, request: string): Promise<string> {
  const others = await Promise.all(Array.from({ length: OTHERS }, () => connected(url, OTHER_CLIENT)));
  const received = await exchange(url, (socket) => {
    for (const other of others) other.write(request);
    socket.write(bytes);
  });
  for (const other of others) other.destroy();
  return received;
}

async function connected(url: string, localAddress?: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connectTo(url, resolve, localAddress).once('error', reject);
  await promise;
  return socket;
}

/** A request head of lines, with the Host of the gateway. */
export function head(start: string, ...lines: readonly string[]): string {
  return [`${start} HTTP/1.1`, 'Host: gateway.test', ...lines, '', ''].join('\r\n');
}

/** The same, as the last one on its connection. */
export function lastHead(start: string, ...lines: readonly string[]): string {
  return head(start, 'Connection: close', ...lines);
}

/** A raw answer without ids and the date. Field names are in lower case; lines end in LF. */
export function normalized(raw: string): string {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const [status = '', ...fields] = head.split('\r\n');
  const kept = fields
    .map((field) => field.replace(/^[^:]+/, (name) => name.toLowerCase()))
    .map((field) => field.replace(/^(date|x-request-id): .+/, '$1: …'));
  const body = rest.join('\r\n\r\n').replace(/"decision":"[^"]+"/, '"decision":"…"');
  return `${[status, ...kept].join('\n')}\n\n${body}`;
}

/** A connection whose bytes a test sees. */
export interface RawConnection {
  readonly socket: Socket;
  readonly received: () => string;
  /** How the connection has ended: `end` by a FIN, `reset` by an error. */
  readonly ended: () => 'end' | 'reset' | undefined;
  /** Resolves when `text` has arrived. */
  readonly has: (text: string | RegExp) => Promise<true>;
}

/** Connects and sends `bytes`. The end of the test ends the connection. */
export async function open(url: string, bytes: string | Buffer): Promise<RawConnection> {
  const socket = await connected(url);
  onTestFinished(() => void socket.destroy());
  const connection = watched(socket);
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

/** An upstream that sends any bytes, and records what each connection received. */
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
