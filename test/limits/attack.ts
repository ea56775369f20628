import { once as event } from 'node:events';
import { connect, type Socket } from 'node:net';
import { openConnection, type Connection } from '../../bench/load/connection.ts';
import type { Target } from './world.ts';

/** Reports the status of an answer, or 0 if the connection closed without one. */
type Report = (status: number) => void;

/** Starts a noise. Once it is at full strength, returns the function that ends it. */
export type Noise = (target: Target, report: Report) => (() => Promise<unknown>) | Promise<() => Promise<unknown>>;

/** The local address of noisy clients. */
const FROM = '127.0.0.3';
/** The number of connections to open at a time. */
const STEP = 200;

function open({ url }: Target): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: FROM });
  return socket
    .setEncoding('latin1')
    .setMaxListeners(0)
    .on('error', () => {});
}

/** Repeats requests on a number of connections until the returned function ends it or `ask` returns undefined. */
export function flood(
  target: Target,
  report: Report,
  connections: number,
  ask: (connection: Connection) => Promise<number> | undefined,
  isEndless = true,
): () => Promise<unknown> {
  let ending = false;
  const all = Array.from({ length: connections }, async () => {
    const connection = openConnection(target.url, FROM);
    for (;;) {
      const status = ending && isEndless ? undefined : ask(connection);
      if (status === undefined) break;
      report(await status);
    }
    connection.close();
  });
  return () => {
    ending = true;
    return Promise.all(all);
  };
}

/** The bytes of a held connection. */
interface Held {
  readonly first: string | Buffer;
  /** Sent each second after that. */
  readonly each?: string;
  /** The number of answers for full strength; default: none. */
  readonly answers?: number;
}

/** Opens a number of connections and keeps them open. */
export async function hold(
  target: Target,
  report: Report,
  count: number,
  { first, each, answers = 0 }: Held,
): Promise<() => Promise<unknown>> {
  const sockets = new Set<Socket>();
  const closed: Promise<unknown>[] = [];
  const full = Promise.withResolvers<void>();
  let answered = 0;
  for (let opened = 0; opened < count; opened += STEP) {
    await Promise.all(
      Array.from({ length: STEP }, async () => {
        const socket = open(target);
        sockets.add(socket);
        let status: number | undefined;
        socket.on('data', (text: string) => {
          if (status !== undefined) return;
          status = Number(text.slice(9, 12));
          report(status);
          answered += 1;
          if (answered === answers) full.resolve();
        });
        closed.push(
          new Promise<void>((resolve) => {
            socket.once('close', () => {
              sockets.delete(socket);
              resolve();
            });
          }),
        );
        await event(socket, 'connect').catch(() => report(0));
        // Until all bytes are sent, or the gateway closes the connection.
        await new Promise<void>((resolve) => {
          socket.write(first, () => resolve());
          socket.once('close', () => resolve());
        });
      }),
    );
  }
  const timer = setInterval(() => {
    if (each !== undefined) for (const socket of sockets) if (socket.writable) socket.write(each);
  }, 1_000);
  if (answers > 0) await Promise.race([full.promise, Promise.all(closed)]);
  return async () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  };
}

/** Sends a head and `bytes` of a chunked body as fast as possible. Returns the status, which may come earlier. */
export async function upload(target: Target, head: string, bytes: number): Promise<number> {
  const socket = open(target);
  const status = answered(socket);
  socket.write(head);
  const size = 64 * 1024;
  const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
  for (let sent = 0; sent < bytes && socket.writable && (await isPending(status)); sent += size) {
    if (!socket.write(chunk, 'latin1')) await Promise.race([event(socket, 'drain').catch(() => {}), status]);
  }
  if (socket.writable) socket.write('0\r\n\r\n');
  const found = await status;
  socket.destroy();
  return found;
}

/** Sends bytes on a new connection. Returns the status. */
export async function sendOnce(target: Target, bytes: string): Promise<number> {
  const socket = open(target);
  const status = answered(socket);
  socket.write(bytes);
  const found = await status;
  socket.destroy();
  return found;
}

function answered(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('data', (text: string) => resolve(Number(text.slice(9, 12))));
    socket.once('close', () => resolve(0));
  });
}

function isPending(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => false), Promise.resolve(true)]);
}
