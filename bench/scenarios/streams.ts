import { setTimeout as wait } from 'node:timers/promises';
import type { Bench, Scenario } from '../bench.ts';
import type { Contender, Running } from '../contender.ts';
import { haproxyJwt } from '../contenders/haproxy-jwt.ts';
import { nginx } from '../contenders/nginx.ts';
import { direct, httpProxy3, undiciFloor } from '../contenders/node.ts';
import { compared } from '../contenders/sallyport.ts';
import { openStreams } from '../load/streams.ts';
import { residentKiB, startNode } from '../machine/process.ts';
import { median, quantile } from '../statistics.ts';
import { atMost, times, type Line } from '../table.ts';

const STREAMS = 5000;
/** Streams that are open before the measurement, so that one-time costs of the process do not count. */
const BEFORE = 200;
const LISTENERS = 200;
const EVENTS = 20;
const AIM_MEMORY = 1.15;

/** Idle event streams. */
export const streams: Scenario = {
  name: 'streams',
  about: `${STREAMS} idle event streams, and one event through ${LISTENERS} of them at once`,
  async run(bench) {
    const upstream = await startNode('event-upstream.ts', 'other');
    const found: { name: string; kib: number; delays: readonly number[] }[] = [];
    try {
      for (const contender of [direct, ...compared(bench, [undiciFloor, httpProxy3, haproxyJwt, nginx])]) {
        const measured = await measure(bench, contender, upstream.url);
        if (measured !== undefined) found.push({ name: contender.name, ...measured });
      }
    } finally {
      await upstream.stop();
    }
    const floor = found.find(({ name }) => name === undiciFloor.name)?.kib ?? NaN;
    const straight = found.find(({ name }) => name === direct.name)?.delays ?? [];
    return found.map(({ name, kib, delays }): Line => {
      const ratio = kib / floor;
      return {
        subject: name,
        cells: {
          'KiB a stream': name === direct.name ? '' : kib.toFixed(1),
          'of the floor': name === direct.name ? '' : times(ratio),
          'event p50 ms': median(delays).toFixed(2),
          'event p99 ms': quantile(delays, 0.99).toFixed(2),
          'adds p50': name === direct.name ? '' : (median(delays) - median(straight)).toFixed(2),
          'adds p99': name === direct.name ? '' : (quantile(delays, 0.99) - quantile(straight, 0.99)).toFixed(2),
        },
        aims: name === 'sallyport' ? [atMost('memory of a stream, compared with undici-floor', AIM_MEMORY, ratio)] : [],
      };
    });
  },
};

async function measure(
  bench: Bench,
  contender: Contender,
  upstream: string,
): Promise<{ kib: number; delays: readonly number[] } | undefined> {
  const token = await bench.token();
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const request = { method: 'GET', path: '/mcp', headers } as const;
  return bench.with(
    [contender],
    async (running) => {
      const one = running.get(contender.name);
      if (one === undefined) return undefined;
      const few = await openStreams(one.url, request, BEFORE);
      const delays = await broadcasts(few.events, upstream, few.delays);
      const before = await settled(one);
      const many = await openStreams(one.url, request, STREAMS);
      const kib = ((await settled(one)) - before) / STREAMS;
      few.close();
      many.close();
      await wait(500);
      return { kib, delays };
    },
    { upstream },
  );
}

async function broadcasts(
  events: (count: number) => Promise<void>,
  upstream: string,
  delays: number[],
): Promise<readonly number[]> {
  for (let event = 0; event < EVENTS + 2; event += 1) {
    const all = events(LISTENERS);
    await (await fetch(`${upstream}/broadcast`, { method: 'POST' })).text();
    await all;
    // The first events run code that is not compiled yet.
    if (event < 2) delays.length = 0;
    await wait(50);
  }
  return [...delays];
}

/** Memory after two seconds of rest, with time for garbage collection. */
async function settled({ pids }: Running): Promise<number> {
  await wait(2000);
  return residentKiB(pids);
}
