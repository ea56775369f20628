import { setTimeout as wait } from 'node:timers/promises';
import { openConnection, type Connection } from './connection.ts';

/**
 * Sends `perSecond` requests a second, also if earlier ones have no answer yet. A request without a free connection
 * waits, and its wait counts. A timer looks for due requests each millisecond. Its own delay does not count. Returns
 * the latency of each, from the time at which it was due to the end of its answer, in ms. All must get 200.
 */
export async function steady(
  url: string,
  bytes: Buffer,
  perSecond: number,
  seconds: number,
  connections: number,
): Promise<readonly number[]> {
  const idle: Connection[] = Array.from({ length: connections }, () => openConnection(url));
  const all = [...idle];
  const due: number[] = [];
  const latencies: number[] = [];

  async function sendOn(connection: Connection, since: number): Promise<void> {
    if ((await connection.ask(bytes)) === 200) latencies.push(performance.now() - since);
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
  return allOf(sent, latencies);
}

/** Sends each request once, `connections` at a time, and returns their latencies. All must get 200. */
export async function each(url: string, requests: readonly Buffer[], connections: number): Promise<readonly number[]> {
  const latencies: number[] = [];
  let next = 0;
  async function ask(): Promise<void> {
    const connection = openConnection(url);
    while (next < requests.length) {
      const bytes = requests[next] as Buffer;
      next += 1;
      const since = performance.now();
      if ((await connection.ask(bytes)) === 200) latencies.push(performance.now() - since);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: Math.min(connections, requests.length) }, ask));
  return allOf(requests.length, latencies);
}

function allOf(sent: number, latencies: readonly number[]): readonly number[] {
  if (latencies.length === sent) return latencies;
  throw new Error(`${sent - latencies.length} of ${sent} requests failed`);
}
