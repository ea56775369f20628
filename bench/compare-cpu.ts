import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender, Running } from './contender.ts';
import { saturate, type Request } from './load/wrk.ts';
import { cpuMicroseconds } from './machine/cpu.ts';
import { median, medianRatio } from './statistics.ts';
import type { Line } from './table.ts';

/** The cost of one kind of request for one contender, one sample for each round. */
export interface CpuSamples {
  /** User and system time of the contender's processes only. */
  readonly cpuMicroseconds: number[];
  readonly requestsPerSecond: number[];
}

/** A load for a contender. */
export type RequestFor = (running: Running) => Request;

/** The number of requests after which V8 has compiled the hot code, on any machine. */
export const WARM_UP_REQUESTS = 40_000;

/** Measures the contenders in turn, round after round, so that other load on the machine affects all of them. */
export async function measureCpu(
  bench: Bench,
  running: ReadonlyMap<string, Running>,
  requestFor: RequestFor,
): Promise<ReadonlyMap<string, CpuSamples>> {
  const samples = new Map<string, CpuSamples>();
  for (const [name, one] of running) {
    for (let warm = 0; warm < WARM_UP_REQUESTS;) warm += (await load(bench, name, one, requestFor(one), 1)).requests;
    samples.set(name, { cpuMicroseconds: [], requestsPerSecond: [] });
  }
  for (let round = 0; round < bench.rounds; round += 1) {
    for (const [name, one] of running) {
      const { cpu, requests, seconds } = await load(bench, name, one, requestFor(one), bench.seconds);
      samples.get(name)?.cpuMicroseconds.push(cpu / requests);
      samples.get(name)?.requestsPerSecond.push(requests / seconds);
    }
    process.stdout.write('.');
  }
  process.stdout.write('\n');
  return samples;
}

async function load(bench: Bench, name: string, { url, pids }: Running, request: Request, seconds: number) {
  const before = cpuMicroseconds(pids);
  const done = await saturate(url, request, seconds, join(bench.surroundings.folder, 'request.lua'));
  const cpu = cpuMicroseconds(pids) - before;
  if (done.failed > 0 || done.requests === 0) {
    throw new Error(`${name}: ${done.failed} of ${done.requests} requests failed`);
  }
  return { cpu, ...done };
}

/** By contender: the largest acceptable ratio of the gateway's CPU to its CPU. */
export type CpuAims = Readonly<Record<string, number>>;

/** One row for each contender: its cost, and the ratio of the gateway's cost to it. */
export function cpuLines(
  samples: ReadonlyMap<string, CpuSamples>,
  contenders: readonly Contender[],
  aims: CpuAims,
  ours = 'sallyport',
): readonly Line[] {
  const own = samples.get(ours)?.cpuMicroseconds ?? [];
  return contenders.flatMap(({ name, does }) => {
    const found = samples.get(name);
    if (found === undefined) return [];
    const { cpuMicroseconds: cpu, requestsPerSecond } = found;
    const ratio = name === ours ? undefined : medianRatio(own, cpu);
    const aim = aims[name];
    return [
      {
        subject: name,
        cells: {
          does,
          'CPU µs/request': median(cpu).toFixed(1),
          range: `${Math.min(...cpu).toFixed(1)}–${Math.max(...cpu).toFixed(1)}`,
          'requests/s on one core': Math.round(median(requestsPerSecond)).toString(),
          [`${ours} is`]: ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
        },
        aim: ratio === undefined || aim === undefined ? undefined : { at: `≤ ${aim.toFixed(2)} ×`, met: ratio <= aim },
      },
    ];
  });
}
