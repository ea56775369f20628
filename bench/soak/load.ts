import { setTimeout as wait } from 'node:timers/promises';
import { createSessionVisitor, createStatelessVisitor } from './clients/mcp.ts';
import { createPlain, plainKinds } from './clients/plain.ts';
import { createListener, createTalker, pause, type Visitor } from './clients/streams.ts';
import type { Ledger } from './ledger.ts';
import type { World } from './world.ts';

/** The amount of load. */
export interface LoadOptions {
  /** Plain requests a second, in addition to the requests of visitors. */
  readonly perSecond: number;
  /** The longest time that a client holds a stream or WebSocket. */
  readonly longestMs: number;
}

const LISTENERS = 20;
const TALKERS = 5;
const VISITORS = 3;
const TICK_MS = 20;
/** The most requests in flight. After a pause of the machine, the load skips the rest of the due requests. */
const MOST_UNDER_WAY = 200;
/** Errors of the official clients for an error status or a broken connection. The ledger has these already. */
const isInLedger = /fetch failed|Error POSTing|Unauthorized|HTTP [45][0-9]{2}/;
const BETWEEN_CALLS_MS = 250;

/** Loads the gateway until `ending`. Resolves when all clients have ended, with the errors that they threw. */
export async function load(
  ledger: Ledger,
  world: World,
  { perSecond, longestMs }: LoadOptions,
  ending: AbortSignal,
): Promise<readonly string[]> {
  const plain = createPlain(world.url, ledger);
  const faults: string[] = [];
  const visitors = [
    ...repeat(LISTENERS, () => createListener(plain, world, longestMs)),
    ...repeat(TALKERS, () => createTalker(ledger, world, longestMs)),
    ...repeat(VISITORS, () => createSessionVisitor(ledger, world, BETWEEN_CALLS_MS)),
    ...repeat(VISITORS, () => createStatelessVisitor(ledger, world, BETWEEN_CALLS_MS)),
  ];
  await Promise.all([steadily(), ...visitors.map(visits)]);
  plain.close();
  return faults;

  async function visits(visitor: Visitor, index: number): Promise<void> {
    for (let visit = index; !ending.aborted; visit += 1) {
      await visitor(visit, ending).catch((error: unknown) => {
        if (!isInLedger.test(String(error))) faults.push(String(error));
      });
      await pause(Math.random() * BETWEEN_CALLS_MS, ending);
    }
  }

  async function steadily(): Promise<void> {
    const kinds = plainKinds(plain, world);
    const all = kinds.reduce((sum, [weight]) => sum + weight, 0);
    const underWay = new Set<Promise<unknown>>();
    const began = performance.now();
    let sent = 0;
    while (!ending.aborted) {
      await wait(TICK_MS);
      for (const due = ((performance.now() - began) / 1000) * perSecond; sent < due; sent += 1) {
        let left = Math.random() * all;
        const [, ask] = kinds.find(([weight]) => (left -= weight) < 0) ?? [];
        if (ask === undefined || underWay.size >= MOST_UNDER_WAY) continue;
        const asked = ask().finally(() => underWay.delete(asked));
        underWay.add(asked);
      }
    }
    await Promise.all(underWay);
  }
}

function repeat<Value>(count: number, create: () => Value): readonly Value[] {
  return Array.from({ length: count }, create);
}
