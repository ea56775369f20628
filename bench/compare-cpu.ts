import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender, Running } from './contender.ts';
import { saturate, type Completed, type Request } from './load/wrk.ts';
import { cpuMicroseconds } from './machine/process.ts';
import { differences, median, ratios, rotated, spread } from './statistics.ts';
import { atMost, type Line } from './table.ts';

/** The CPU time of a request by contender, one sample for each round, in µs: user and system time of its processes. */
export type CpuSamples = ReadonlyMap<string, readonly number[]>;

/** The connections of the load. */
const CONNECTIONS = 64;
/** V8 has compiled the hot code of a process after this number of requests. Until then, its compiler takes time too. */
const WARM_UP_REQUESTS = 50_000;
/** The limit for a contender that is slow. */
const WARM_UP_SECONDS = 30;

/**
 * Measures the contenders in turn, in many short rounds, so that other load on the machine affects all of them. Each
 * round has another order.
 */
export async function measureCpu(
  bench: Bench,
  running: ReadonlyMap<string, Running>,
  request: Request,
): Promise<CpuSamples> {
  const samples = new Map<string, number[]>([...running.keys()].map((name) => [name, []]));
  for (const one of running.values()) await warmUp(bench, one, request);
  for (let round = 0; round < bench.rounds; round += 1) {
    for (const [name, one] of rotated([...running], round)) {
      const { pids } = one;
      const before = cpuMicroseconds(pids);
      const { requests } = await load(bench, one, request, bench.seconds);
      samples.get(name)?.push((cpuMicroseconds(pids) - before) / requests);
    }
    process.stdout.write('.');
  }
  process.stdout.write('\n');
  return samples;
}

/** Loads a contender until its code is compiled. */
async function warmUp(bench: Bench, running: Running, request: Request): Promise<void> {
  const enough = WARM_UP_REQUESTS * running.pids.length;
  let requests = 0;
  for (let second = 0; second < WARM_UP_SECONDS && requests < enough; second += 1) {
    requests += (await load(bench, running, request, 1)).requests;
  }
}

/** Loads a contender for a time. Every request must succeed. */
async function load(bench: Bench, running: Running, request: Request, seconds: number): Promise<Completed> {
  const urls = [running.url, ...(running.moreUrls ?? [])];
  const each = await Promise.all(
    urls.map((url, at) => {
      const script = join(bench.surroundings.folder, `request-${at}.lua`);
      return saturate(url, request, seconds, script, CONNECTIONS / urls.length);
    }),
  );
  const requests = sum(each.map((done) => done.requests));
  const failed = sum(each.map((done) => done.failed));
  if (failed > 0 || requests === 0) {
    throw new Error(`${request.method} ${running.url}${request.path}: ${failed} of ${requests} requests failed`);
  }
  return { requests, failed, seconds: Math.max(...each.map((done) => done.seconds)) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** By contender: the largest acceptable ratio of the gateway's CPU to its CPU. */
export type CpuAims = Readonly<Record<string, number>>;

/** The columns of {@link cpuLines} that the summary repeats. */
export const columns = {
  cpu: 'CPU µs/request',
  rate: 'requests in a second of CPU',
  ratio: 'sallyport is',
  spread: 'in half of the rounds',
  adds: 'sallyport adds µs',
} as const;

/**
 * One row for each contender: its cost, and how the gateway's cost compares with it. Ratios and differences are those
 * within a round. The table has their medians, and for the ratios the quartiles: what a figure is worth.
 */
export function cpuLines(
  samples: CpuSamples,
  contenders: readonly Contender[],
  aims: CpuAims,
  ours = 'sallyport',
): readonly Line[] {
  const own = samples.get(ours) ?? [];
  return contenders.flatMap(({ name, does }): readonly Line[] => {
    const cpu = samples.get(name);
    if (cpu === undefined) return [];
    const cost = { does, [columns.cpu]: median(cpu).toFixed(1), [columns.rate]: (1e6 / median(cpu)).toFixed(0) };
    if (name === ours) return [{ subject: name, cells: cost }];
    const ratio = spread(ratios(own, cpu));
    const compared = {
      [columns.ratio]: `${ratio.median.toFixed(2)} ×`,
      [columns.spread]: `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)} ×`,
      [columns.adds]: median(differences(own, cpu)).toFixed(1),
    };
    const aim = aims[name];
    const found = aim === undefined ? [] : [atMost(`compared with ${name}`, aim, ratio.median)];
    return [{ subject: name, cells: { ...cost, ...compared }, aims: found }];
  });
}
