import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender, Running } from './contender.ts';
import { saturate, type Request } from './load/wrk.ts';
import { cpuMicroseconds } from './machine/process.ts';
import { differences, inRounds, median, ratios, spread } from './statistics.ts';
import { type Aim, atMost, markdownTable, timesSpread, type Line, type Result } from './table.ts';
import { isCheckout } from './contenders/sallyport.ts';

/** The CPU time of a request by contender, one sample for each round, in µs: user and system time of its processes. */
export type CpuSamples = ReadonlyMap<string, readonly number[]>;

/** The connections of the load. */
const CONNECTIONS = 64;
/** V8 has compiled the hot code of a process after this number of requests. Until then, its compiler takes time too. */
const WARM_UP_REQUESTS = 50_000;
/** The limit for a contender that is slow. */
const WARM_UP_SECONDS = 30;

/** Measures the contenders in turn, in many short rounds, so that other load on the machine affects all of them. */
export async function measureCpu(
  bench: Bench,
  running: ReadonlyMap<string, Running>,
  request: Request,
): Promise<CpuSamples> {
  for (const one of running.values()) await warmUp(bench, one, request);
  return inRounds(bench.rounds, running, async (one) => {
    const before = cpuMicroseconds(one.pids);
    const requests = await load(bench, one, request, bench.seconds);
    return (cpuMicroseconds(one.pids) - before) / requests;
  });
}

/** Loads a contender until its code is compiled. */
async function warmUp(bench: Bench, running: Running, request: Request): Promise<void> {
  const enough = WARM_UP_REQUESTS * running.pids.length;
  let requests = 0;
  for (let second = 0; second < WARM_UP_SECONDS && requests < enough; second += 1) {
    requests += await load(bench, running, request, 1);
  }
}

/** Loads a contender for a time, and returns the number of requests. Every request must succeed. */
async function load(bench: Bench, running: Running, request: Request, seconds: number): Promise<number> {
  const urls = [running.url, ...(running.moreUrls ?? [])];
  const completed = await Promise.all(
    urls.map((url, at) => {
      const script = join(bench.surroundings.folder, `request-${at}.lua`);
      return saturate(url, request, seconds, script, CONNECTIONS / urls.length);
    }),
  );
  return completed.reduce((total, requests) => total + requests, 0);
}

/** By contender: the largest acceptable ratio of the gateway's CPU to its CPU. */
export type CpuAims = Readonly<Record<string, number>>;

/** The columns of {@link cpuLines}. */
const columns = {
  cpu: 'CPU µs/request',
  rate: 'requests in a second of CPU',
  ratio: 'sallyport is',
  adds: 'sallyport adds µs',
} as const;

/**
 * One row for each contender: its cost, and how the gateway's cost compares with it. Ratios and differences are those
 * within a round. The table has their medians, and for the ratios the quartiles: what a figure is worth.
 */
export function cpuLines(samples: CpuSamples, contenders: readonly Contender[], aims: CpuAims): readonly Line[] {
  const own = samples.get('sallyport') ?? [];
  return contenders.flatMap(({ name, does }): readonly Line[] => {
    const cpu = samples.get(name);
    if (cpu === undefined) return [];
    const cost = { does, [columns.cpu]: median(cpu).toFixed(1), [columns.rate]: (1e6 / median(cpu)).toFixed(0) };
    if (name === 'sallyport') return [{ subject: name, cells: cost }];
    const ratio = spread(ratios(own, cpu));
    const difference = median(differences(own, cpu)).toFixed(1);
    const cells = { ...cost, [columns.ratio]: timesSpread(ratio), [columns.adds]: difference };
    const aim = aims[name];
    if (isCheckout(name)) return [{ subject: name, cells, aims: [notSlower(name, own, cpu)] }];
    return [
      { subject: name, cells, aims: aim === undefined ? [] : [atMost(`compared with ${name}`, aim, ratio.median)] },
    ];
  });
}

/** What a change may cost. */
const MOST_SLOWER = 1.05;

/**
 * The gate for a change, beside the checkout before it. It compares the least of all rounds: other load on the machine
 * only ever adds.
 */
function notSlower(before: string, ours: readonly number[], theirs: readonly number[]): Aim {
  const least = Math.min(...ours) / Math.min(...theirs);
  return { ...atMost(`least CPU compared with ${before}`, MOST_SLOWER, least), isGate: true };
}

/**
 * A row for each scenario that {@link cpuLines} describes, as `bench/README.md` has it: what the gateway adds to the
 * floor, and its ratio to each contender.
 */
export function comparisonTable(results: readonly Result[]): string {
  const compared = results.filter(({ lines }) => lines.some(({ cells }) => columns.ratio in cells));
  return markdownTable(
    compared.map(({ scenario, lines }) => {
      const cellOf = (subject: string, column: string): string =>
        lines.find((line) => line.subject === subject)?.cells[column] ?? '';
      const others = lines.filter(({ cells }) => columns.ratio in cells);
      return {
        subject: `\`${scenario}\``,
        cells: {
          'adds to the floor, µs': cellOf('undici-floor', columns.adds),
          ...Object.fromEntries(others.map(({ subject }) => [subject, cellOf(subject, columns.ratio)])),
          'requests/s for a core': cellOf('sallyport', columns.rate),
        },
      };
    }),
  );
}
