import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender, Running } from './contender.ts';
import { saturate, type Request } from './load/wrk.ts';
import { cpuMicroseconds } from './machine/cpu.ts';
import { median, medianRatio } from './statistics.ts';
import type { Line } from './table.ts';

/** What one contender took for one kind of request; a sample a round. */
export interface CpuSamples {
  /** User and system, of the contender's processes alone. */
  readonly cpuMicroseconds: number[];
  readonly requestsPerSecond: number[];
}

/** A load for a contender. */
export type RequestFor = (running: Running) => Request;

/** Of V8, until it has compiled what there is to compile, whatever the machine has to give. */
export const WARM_UP_REQUESTS = 40_000;

/** Measures each in turn, round after round, so that what disturbs the machine disturbs all of them. */
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
    throw new Error(`${name}: ${done.failed} of ${done.requests} requests were not answered with a success`);
  }
  return { cpu, ...done };
}

/** How many times another contender's CPU ours may take, at most. */
export type CpuAims = Readonly<Record<string, number>>;

/** One line a contender: what it takes, and how ours compares. */
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
