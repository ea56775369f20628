/**
 * Profiles the gateway under load with V8's sampling profiler, and prints the CPU time by stage and by function.
 *
 *     npm run bench:profile -- [get|post] [--seconds S] [--functions N] [--root CHECKOUT]
 *
 * @module
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBench } from './bench.ts';
import { budgets } from './budgets.ts';
import { createSallyport } from './contenders/sallyport.ts';
import { saturate } from './load/wrk.ts';
import { leaveContenderCore } from './machine/cores.ts';
import { cpuMicroseconds } from './machine/cpu.ts';
import { freePort } from '../test/support/ports.ts';
import { profiled, type CallFrame, type CpuProfile } from './machine/profiler.ts';
import { WARM_UP_REQUESTS } from './compare-cpu.ts';
import { requestOf } from './scenarios/requests.ts';
import { markdownTable } from './table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    functions: { type: 'string', default: '25' },
    root: { type: 'string' },
  },
});
const kind = positionals[0] ?? 'get';
if (kind !== 'get' && kind !== 'post') {
  console.error(`unknown request ${kind}; the requests are get and post`);
  process.exit(2);
}
leaveContenderCore();
const bench = await startBench({ rounds: 1, seconds: Number(values.seconds), against: [], only: undefined });
try {
  const port = await freePort();
  const root = values.root === undefined ? {} : { root: values.root };
  const sallyport = createSallyport({ flags: [`--inspect=127.0.0.1:${port}`], ...root });
  const request = requestOf(kind, await bench.token());
  const script = join(bench.surroundings.folder, 'request.lua');
  await bench.with([sallyport], async (running) => {
    const { url, pids } = running.get(sallyport.name) ?? { url: '', pids: [] };
    for (let warm = 0; warm < WARM_UP_REQUESTS;) warm += (await saturate(url, request, 1, script)).requests;
    const before = cpuMicroseconds(pids);
    let requests = 0;
    const profile = await profiled(port, async () => {
      ({ requests } = await saturate(url, request, bench.seconds, script));
    });
    const each = (cpuMicroseconds(pids) - before) / requests;
    print(kind, profile, requests, each);
  });
} finally {
  await bench.close();
}

function print(of: 'get' | 'post', profile: CpuProfile, requests: number, each: number): void {
  console.log(`${of}: ${requests} requests, ${each.toFixed(1)} µs of CPU each with the profiler on\n`);
  const busy = selfTimes(profile).filter(({ frame }) => frame.functionName !== '(idle)');
  console.log(
    table('stage', busy, ({ url, functionName }) => stageOf(url, functionName), Infinity, requests, budgets[of]),
  );
  console.log();
  const named = ({ url, functionName, lineNumber }: CallFrame): string =>
    `${functionName || '(anonymous)'} ${url.replace(/^.*\/(?=src\/|node_modules\/)/, '')}:${lineNumber + 1}`;
  console.log(table('function', busy, named, Number(values.functions), requests));
}

interface SelfTime {
  readonly frame: CallFrame;
  readonly microseconds: number;
}

function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): readonly SelfTime[] {
  const byNode = new Map<number, number>();
  for (const [at, id] of samples.entries()) byNode.set(id, (byNode.get(id) ?? 0) + (timeDeltas[at] ?? 0));
  return nodes.map(({ id, callFrame }) => ({ frame: callFrame, microseconds: byNode.get(id) ?? 0 }));
}

/** The owner of a function: a folder or file of `src/`, a package, a module of Node, or V8 itself. */
function stageOf(url: string, functionName: string): string {
  const own = /\/src\/([^/]+)(?:\/[^/]+)?$/.exec(url)?.[1];
  if (own !== undefined && !url.includes('/node_modules/')) return `src/${own}`;
  const library = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1];
  if (library !== undefined) return library;
  if (url.startsWith('node:')) return url.replace('node:internal/', 'node:').replace(/\/.*$/, '');
  return url === '' ? functionName : url;
}

function table(
  what: string,
  times: readonly SelfTime[],
  keyOf: (frame: CallFrame) => string,
  most: number,
  requests: number,
  atMost: Readonly<Record<string, number>> = {},
): string {
  const sums = new Map<string, number>();
  for (const { frame, microseconds } of times) {
    const key = keyOf(frame);
    sums.set(key, (sums.get(key) ?? 0) + microseconds);
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0);
  const largest = [...sums].toSorted(([, one], [, other]) => other - one).slice(0, most);
  return markdownTable(
    largest
      .filter(([, sum]) => sum / total > 0.001)
      .map(([key, sum]) => {
        const share = (100 * sum) / total;
        const budget = atMost[key];
        return {
          subject: key,
          cells: { [`share by ${what}`]: `${share.toFixed(1)} %`, 'µs/request': (sum / requests).toFixed(2) },
          aim: budget === undefined ? undefined : { at: `≤ ${budget} %`, met: share <= budget },
        };
      }),
  );
}
