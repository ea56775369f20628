import { setTimeout as wait } from 'node:timers/promises';
import { openConnection, type Connection } from './connection.ts';

/** The results of requests that were measured one by one. */
export interface Answers {
  /** From the time at which a request was due to the end of its answer, in ms. */
  readonly latencies: readonly number[];
  /** Answers other than 200, and connections that broke. */
  readonly failed: number;
}

/**
 * Sends `perSecond` requests a second, also if earlier ones have no answer yet. A request without a free connection
 * waits, and its wait counts. A timer looks for due requests each millisecond. Its own delay does not count.
 */
export async function steady(
  url: string,
  bytes: Buffer,
  perSecond: number,
  seconds: number,
  connections: number,
): Promise<Answers> {
  const idle: Connection[] = Array.from({ length: connections }, () => openConnection(url));
  const all = [...idle];
  const due: number[] = [];
  const latencies: number[] = [];
  let failed = 0;

  async function sendOn(connection: Connection, since: number): Promise<void> {
    const status = await connection.ask(bytes);
    if (status === 200) latencies.push(performance.now() - since);
    else failed += 1;
    idle.push(connection);
    send();
  }

  function send(): void {
    while (idle.length > 0 && due.length > 0) void sendOn(idle.pop() as Connection, due.shift() as number);
  }

  // The first request of each connection is not measured.
  await Promise.all(all.map((connection) => connection.ask(bytes)));
  const begin = performance.now();
  let sent = 0;
  while (sent < perSecond * seconds) {
    await wait(1);
    const now = performance.now();
    for (const until = ((now - begin) / 1000) * perSecond; sent < until; sent += 1) due.push(now);
    send();
  }
  while (idle.length < all.length || due.length > 0) await wait(5);
  for (const connection of all) connection.close();
  return { latencies, failed };
}

/** Sends each request once, `connections` at a time. */
export async function each(url: string, requests: readonly Buffer[], connections: number): Promise<Answers> {
  const latencies: number[] = [];
  let failed = 0;
  let next = 0;
  async function ask(): Promise<void> {
    const connection = openConnection(url);
    while (next < requests.length) {
      const bytes = requests[next] as Buffer;
      next += 1;
      const since = performance.now();
      if ((await connection.ask(bytes)) === 200) latencies.push(performance.now() - since);
      else failed += 1;
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: Math.min(connections, requests.length) }, ask));
  return { latencies, failed };
}
