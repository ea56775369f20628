/**
 * Profiles the gateway and the floor under load with V8's sampling profiler, in turn, and prints the CPU time of a
 * request by stage and by function: what the gateway adds to the floor.
 *
 *     npm run bench:profile -- [KIND] [--seconds S] [--functions N] [--root CHECKOUT]
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { startBench } from './bench.ts';
import { budgets } from './budgets.ts';
import { load, warmUp } from './compare-cpu.ts';
import type { Running } from './contender.ts';
import { createSallyport } from './contenders/sallyport.ts';
import { createUndiciFloor } from './contenders/undici-floor.ts';
import type { Request } from './load/wrk.ts';
import { leaveContenderCore } from './machine/cores.ts';
import { freePort } from '../test/support/ports.ts';
import { openProfile, type Profile } from './profile/profile.ts';
import { functionOf, stageOf } from './profile/owner.ts';
import { kinds, requestFor, type Kind } from './scenarios/requests.ts';
import { markdownTable, type Line } from './table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    functions: { type: 'string', default: '25' },
    root: { type: 'string' },
  },
});
const kind = kinds.find((each) => each === (positionals[0] ?? 'get'));
if (kind === undefined) {
  console.error(`unknown request ${positionals[0]}; the requests are ${kinds.join(', ')}`);
  process.exit(2);
}
leaveContenderCore();
const bench = await startBench({ rounds: Number(values.seconds), seconds: 1, against: [], only: undefined });
try {
  const ports = { sallyport: await freePort(), 'undici-floor': await freePort() };
  const flags = (port: number): readonly string[] => [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http'];
  const root = values.root === undefined ? {} : { root: values.root };
  const sallyport = createSallyport({ flags: flags(ports.sallyport), ...root });
  const floor = createUndiciFloor(flags(ports['undici-floor']));
  const request = await requestFor(bench, kind);
  await bench.with([sallyport, floor], async (running) => {
    const gateway = await warm(running.get(sallyport.name), ports.sallyport, request);
    const other = await warm(running.get(floor.name), ports['undici-floor'], request);
    for (let round = 0; round < bench.rounds; round += 1) {
      for (const { add } of [gateway, other]) await add();
    }
    print(kind, gateway.profile, other.profile);
    gateway.profile.close();
    other.profile.close();
  });
} finally {
  await bench.close();
}

/** A warm contender, and its profile. */
async function warm(running: Running | undefined, port: number, request: Request) {
  if (running === undefined) throw new Error('the contender did not start');
  await warmUp(bench, running, request);
  const profile = await openProfile(running.pids, port);
  return { profile, add: () => profile.add(() => load(bench, running, request, bench.seconds)) };
}

function print(of: Kind, own: Profile, floor: Profile): void {
  console.log(`${of}: ${own.requests} requests of the gateway, ${floor.requests} of the floor, the profiler is on\n`);
  const total = floor.microseconds;
  const withBudget = (line: ComparedLine): Line => {
    const budget = (budgets[of][line.subject] ?? NaN) * (total / 100);
    if (Number.isNaN(budget)) return line;
    const aim = { what: line.subject, at: `≤ ${budget.toFixed(2)}`, reached: line.over.toFixed(2) };
    return { ...line, aims: [{ ...aim, met: line.over <= budget }] };
  };
  const whole = compared('part', parts(own), parts(floor));
  const stages = compared('part', own.byOwner(stageOf), floor.byOwner(stageOf));
  console.log(markdownTable([...whole, ...stages].map(withBudget)));
  console.log(`\nA budget is a share of the floor's ${total.toFixed(1)} µs.\n`);
  const functions = compared('function', own.byOwner(functionOf), floor.byOwner(functionOf));
  console.log(markdownTable(functions.slice(0, Number(values.functions))));
}

/** The total, and its two modes. */
function parts(profile: Profile): ReadonlyMap<string, number> {
  return new Map([['total', profile.microseconds], ...profile.byMode()]);
}

/** A row of what a part of the code takes, the part with the largest difference to the floor first. */
interface ComparedLine extends Line {
  readonly over: number;
}

function compared(
  what: string,
  own: ReadonlyMap<string, number>,
  floor: ReadonlyMap<string, number>,
): readonly ComparedLine[] {
  return [...new Set([...own.keys(), ...floor.keys()])]
    .map((subject) => {
      const gateway = own.get(subject) ?? 0;
      const floors = floor.get(subject) ?? 0;
      return { subject, gateway, floors, over: gateway - floors };
    })
    .filter(({ gateway, floors }) => Math.max(gateway, floors) >= 0.05)
    .toSorted((one, other) => other.over - one.over)
    .map(({ subject, gateway, floors, over }) => ({
      subject,
      over,
      cells: {
        [`gateway, µs by ${what}`]: gateway.toFixed(2),
        floor: floors.toFixed(2),
        over: `${over < 0 ? '−' : '+'}${Math.abs(over).toFixed(2)}`,
      },
    }));
}
