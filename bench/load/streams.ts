import { connect, type Socket } from 'node:net';
import type { Request } from './wrk.ts';
import { bytesOf } from './connection.ts';

/** Event streams that are open at the same time. */
export interface Streams {
  /** For each event: the milliseconds from the time stamp in it to its arrival. */
  readonly delays: number[];
  /** Resolves after `count` events since the last call. */
  readonly events: (count: number) => Promise<void>;
  /** Resolves when the other side has ended every stream. */
  readonly over: Promise<unknown>;
  readonly close: () => void;
}

/** The number of streams to open at a time. */
const STEP = 100;

/** Opens event streams. Resolves when each has sent its first bytes. */
export async function openStreams(url: string, request: Request, count: number): Promise<Streams> {
  const { hostname, port } = new URL(url);
  const bytes = bytesOf(url, request);
  const sockets: Socket[] = [];
  const ends: Promise<void>[] = [];
  const delays: number[] = [];
  let awaited = 0;
  let arrived: (() => void) | undefined;

  function open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname).setEncoding('latin1');
      const ended = Promise.withResolvers<void>();
      ends.push(ended.promise);
      socket.once('close', ended.resolve);
      socket.once('error', reject);
      socket.write(bytes);
      socket.once('data', (head: string) => {
        if (head.startsWith('HTTP/1.1 200')) resolve();
        else reject(new Error(head.slice(0, 200)));
      });
      socket.on('data', (text: string) => {
        const now = process.hrtime.bigint();
        for (const [, sent = ''] of text.matchAll(/data: ([0-9]+)/g)) {
          delays.push(Number(now - BigInt(sent)) / 1e6);
          awaited -= 1;
          if (awaited === 0) arrived?.();
        }
        // The connection is kept for another request.
        if (text.endsWith('\r\n0\r\n\r\n') || text === '0\r\n\r\n') ended.resolve();
      });
      sockets.push(socket);
    });
  }

  for (let opened = 0; opened < count; opened += STEP) {
    await Promise.all(Array.from({ length: Math.min(STEP, count - opened) }, open));
  }
  return {
    delays,
    over: Promise.all(ends),
    events(expected) {
      awaited = expected;
      return new Promise((resolve) => {
        arrived = resolve;
      });
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
