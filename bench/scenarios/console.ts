/**
 * The console: what it costs requests, and whether its page stays usable in real Chromium.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { hasChromium, launchChromium } from '../../test/clients/chromium.ts';
import { freePort } from '../../test/support/ports.ts';
import type { Bench } from '../bench.ts';
import { createSallyport, type RunningSallyport } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { giveEveryCore } from '../machine/cores.ts';
import { cpuMicroseconds } from '../machine/cpu.ts';
import { childrenOf } from '../machine/process.ts';
import { openProfiler } from '../machine/profiler.ts';
import type { Scenario } from '../scenario.ts';
import { differences, median, quantile, ratios, rotated, spread } from '../statistics.ts';
import { requestOf } from './requests.ts';

const CONNECTIONS = 32;
/** Allowed calls, and calls that the gateway refuses for want of a scope. */
const ALLOWED_PER_SECOND = 900;
const REFUSED_PER_SECOND = 100;
/** Long enough for 10,000 decisions, and for V8 to compile the hot code. */
const WARM_UP_SECONDS = 11;
const KEYS_EVERY_MS = 500;
const MIB = 1024 * 1024;

/** Live while the gateway makes 1,000 decisions a second. */
export const live: Scenario = {
  name: 'live',
  about: 'Live in Chromium at 1,000 decisions/s for a minute, all on the same two cores',
  async run(bench) {
    if (!hasChromium) return skipped();
    const port = await freePort();
    const flags = [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http'];
    const seconds = 4 * bench.rounds * bench.seconds;
    return bench.with([createSallyport({ flags })], async (running) => {
      const { url, adminUrl } = running.get('sallyport') as RunningSallyport;
      const profiler = await openProfiler(port);
      // From then on, memory should not grow: the gateway keeps 10,000 decisions.
      await decide(bench, url, WARM_UP_SECONDS);
      return withPage(adminUrl, async (page) => {
        // On the load's core alone, Chromium would slow the load.
        childrenOf(process.pid).filter(isBrowser).forEach(giveEveryCore);
        await page.evaluate(observe);
        const before = { page: await heapOf(page), gateway: await profiler.heapBytes() };
        const load = decide(bench, url, seconds);
        await pressKeysUntil(page, load);
        const { perSecond, p99, took } = await load;
        const { tasks, frames, waits } = await page.evaluate<Observed>('seen');
        const after = { page: await heapOf(page), gateway: await profiler.heapBytes() };
        profiler.close();
        return [
          {
            subject: 'sallyport',
            cells: {
              'decisions/s': perSecond.toFixed(0),
              'p99 of a call, ms': p99.toFixed(1),
              'frames/s': (frames.length / took).toFixed(0),
              'longest frame, ms': Math.max(...frames).toFixed(0),
              'tasks over 50 ms': `${tasks.length}, longest ${Math.max(0, ...tasks).toFixed(0)} ms`,
              'key to handler, p99, ms': waits.length === 0 ? '< 16' : quantile(waits, 0.99).toFixed(0),
              'heap of the page, MiB': grown(before.page, after.page),
              'heap of the gateway, MiB': grown(before.gateway, after.gateway),
            },
          },
        ];
      });
    });
  },
};

/** The cost of the console for a request: without it, without a page that watches, and with one. */
export const watched: Scenario = {
  name: 'watched',
  about: `tools/call at ${ALLOWED_PER_SECOND + REFUSED_PER_SECOND} requests/s: what keeping and watching decisions costs`,
  async run(bench) {
    if (!hasChromium) return skipped();
    const contenders = [
      createSallyport({ name: 'no admin listener', admin: 'off' }),
      createSallyport({ name: 'decisions are kept' }),
      createSallyport({ name: 'Chromium shows Live' }),
    ];
    const [off = '', , shown = ''] = contenders.map(({ name }) => name);
    const samples = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
    await bench.with(contenders, async (running) => {
      for (const { url } of running.values()) await decide(bench, url, WARM_UP_SECONDS);
      await withPage((running.get(shown) as RunningSallyport).adminUrl, async () => {
        for (let round = 0; round < bench.rounds; round += 1) {
          for (const [name, { url, pids }] of rotated([...running], round)) {
            const before = cpuMicroseconds(pids);
            const { count } = await decide(bench, url, bench.seconds);
            samples.get(name)?.push((cpuMicroseconds(pids) - before) / count);
          }
        }
      });
    });
    const floor = samples.get(off) ?? [];
    return [...samples].map(([subject, cpu]) => {
      const ratio = spread(ratios(cpu, floor));
      const compared = {
        'compared with no admin listener': `${ratio.median.toFixed(2)} × (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
        'adds µs': median(differences(cpu, floor)).toFixed(1),
      };
      return { subject, cells: { 'CPU µs/request': median(cpu).toFixed(1), ...(subject !== off && compared) } };
    });
  },
};

function skipped(): readonly [] {
  console.log('  skipped: Chromium is not installed');
  return [];
}

/** What the page notices. A task over 50 ms is long; an event under 16 ms is not reported. */
interface Observed {
  readonly tasks: readonly number[];
  /** From one frame to the next. */
  readonly frames: readonly number[];
  /** From a key to its handler. */
  readonly waits: readonly number[];
}

const observe = `
  globalThis.seen = { tasks: [], frames: [], waits: [] };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seen.tasks.push(duration);
  }).observe({ type: 'longtask' });
  new PerformanceObserver((list) => {
    for (const { startTime, processingStart } of list.getEntries()) seen.waits.push(processingStart - startTime);
  }).observe({ type: 'event', durationThreshold: 16 });
  let last = performance.now();
  requestAnimationFrame(function frame(now) {
    seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  });
`;

/** Shows Live in Chromium while `use` runs. */
async function withPage<Result>(adminUrl: string, use: (page: Page) => Promise<Result>): Promise<Result> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(adminUrl);
    await page.getByRole('status').getByText('decisions').waitFor();
    return await use(page);
  } finally {
    await browser.close();
  }
}

function isBrowser(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('chromium');
}

/** The heap of a page after a garbage collection. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** Moves through the rows until the load ends. */
async function pressKeysUntil(page: Page, load: Promise<unknown>): Promise<void> {
  const over = load.then(() => true);
  for (let key = 'j'; !(await Promise.race([over, wait(KEYS_EVERY_MS, false)])); key = key === 'j' ? 'k' : 'j') {
    await page.keyboard.press(key);
  }
}

/** Calls that were decided. */
interface Decided {
  readonly count: number;
  readonly perSecond: number;
  /** The latency of an allowed call, in milliseconds. */
  readonly p99: number;
  /** In seconds. */
  readonly took: number;
}

/** Lets the gateway decide calls, most of them allowed. */
async function decide(bench: Bench, url: string, seconds: number): Promise<Decided> {
  const began = performance.now();
  const [allowed, refused] = await Promise.all(
    [
      { perSecond: ALLOWED_PER_SECOND, scope: 'read' },
      { perSecond: REFUSED_PER_SECOND, scope: 'other' },
    ].map(async ({ perSecond, scope }) => {
      const request = requestOf('post', await bench.token({ scope }));
      return steady(url, bytesOf(url, request), perSecond, seconds, CONNECTIONS);
    }),
  );
  const latencies = allowed?.latencies ?? [];
  const count = latencies.length + (refused?.failed ?? 0);
  if (allowed?.failed !== 0 || refused?.latencies.length !== 0) throw new Error('a call had another outcome');
  const took = (performance.now() - began) / 1000;
  return { count, perSecond: count / took, p99: quantile(latencies, 0.99), took };
}

function grown(before: number, after: number): string {
  return `${(before / MIB).toFixed(1)} → ${(after / MIB).toFixed(1)}`;
}
