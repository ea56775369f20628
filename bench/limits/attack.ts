import { once as event } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { openConnection, type Connection } from '../load/connection.ts';
import type { Target } from './world.ts';

/** Tells of an answer; 0: hung up without one. */
type Told = (status: number) => void;

/** Begins; gives, once it is in full swing, what ends it. */
export type Noise = (target: Target, told: Told) => (() => Promise<unknown>) | Promise<() => Promise<unknown>>;

/** Noisy clients have an address of their own. */
const FROM = '127.0.0.3';
/** How many connections are opened at a time. */
const STEP = 200;
/** How long one waits for a server to lose patience. */
const PATIENCE_MS = 70_000;

function open({ url }: Target): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: FROM });
  return socket
    .setEncoding('latin1')
    .setMaxListeners(0)
    .on('error', () => {});
}

/** Asks on so many connections, again and again, until it is ended; or, where there is an end to it, until `ask` says undefined. */
export function flood(
  target: Target,
  told: Told,
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
      told(await status);
    }
    connection.close();
  });
  return () => {
    ending = true;
    return Promise.all(all);
  };
}

/** What a held connection sends. */
interface Held {
  readonly first: string | Buffer;
  /** Sent each second after that. */
  readonly each?: string;
  /** How many answers there must be before it is in full swing; default: none. */
  readonly answers?: number;
  /** Waits in the end until the server has lost its patience with all of them. */
  readonly patient?: boolean;
}

/** Opens so many connections and keeps them, whatever the server thinks of it. */
export async function hold(
  target: Target,
  told: Told,
  count: number,
  { first, each, answers = 0, patient = false }: Held,
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
          told(status);
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
        await event(socket, 'connect').catch(() => told(0));
        // Sent, or refused before all of it was.
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
    if (patient) await Promise.race([Promise.all(closed), wait(PATIENCE_MS)]);
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  };
}

/** Sends a head and `bytes` of a chunked body, as fast as they are taken; the status, whenever it comes. */
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

/** Sends bytes on a connection of their own; the status. */
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
