import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench } from '../bench.ts';
import type { Contender } from '../contender.ts';
import { bareServer } from '../contenders/node.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { cpuMicroseconds } from '../machine/process.ts';
import type { Scenario } from '../scenario.ts';
import { median, ratios, rotated, spread } from '../statistics.ts';
import type { Line } from '../table.ts';

const AIM_MS = 350;

/** The time from the command to the first allowed request. */
export const start: Scenario = {
  name: 'start',
  about: 'from the command to the first answered request with a token, and the same for a bare Node server',
  async run(bench) {
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    await promisify(execFile)('npm', ['run', 'bundle'], { cwd });
    await promisify(execFile)('npm', ['run', 'build'], { cwd });
    const token = await bench.token();
    const bundle = createSallyport({ name: 'the bundle, as in the image', program: 'bundle/main.js' });
    const built = createSallyport({ name: 'the npm package', program: 'dist/main.js' });
    const sources = createSallyport({ name: 'the sources, as `npm start` does' });
    const contenders = [bareServer, bundle, built, sources];
    // The first start of each fills Node's compile cache.
    for (const contender of contenders) await firstAnswer(bench, contender, token);
    const times = new Map(contenders.map(({ name }) => [name, [] as FirstAnswer[]]));
    for (let round = 0; round < bench.rounds; round += 1) {
      for (const one of rotated(contenders, round)) times.get(one.name)?.push(await firstAnswer(bench, one, token));
    }
    const msOf = (name: string): readonly number[] => (times.get(name) ?? []).map(({ ms }) => ms);
    return contenders.map(({ name }): Line => {
      const { low, median: ms, high } = spread(msOf(name));
      const cells = {
        ms: ms.toFixed(0),
        'in half of the rounds': `${low.toFixed(0)}–${high.toFixed(0)}`,
        'CPU ms': median((times.get(name) ?? []).map(({ cpuMs }) => cpuMs)).toFixed(0),
        'over a bare Node server': `${median(ratios(msOf(name), msOf(bareServer.name))).toFixed(2)} ×`,
      };
      if (name === bareServer.name) return { subject: name, cells };
      const aim = { what: name, at: `≤ ${AIM_MS} ms`, reached: `${ms.toFixed(0)} ms`, met: ms <= AIM_MS };
      return { subject: name, cells, aims: [aim] };
    });
  },
};

/** The time to the first answer, and the CPU time of the process until then. */
interface FirstAnswer {
  readonly ms: number;
  readonly cpuMs: number;
}

async function firstAnswer(bench: Bench, contender: Contender, token: string): Promise<FirstAnswer> {
  const since = performance.now();
  return bench.with([contender], async (running) => {
    const { url = '', pids = [] } = running.get(contender.name) ?? {};
    const answer = await fetch(`${url}/api`, { headers: { authorization: `Bearer ${token}` } });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the first request got ${answer.status}`);
    return { ms: performance.now() - since, cpuMs: cpuMicroseconds(pids) / 1000 };
  });
}
