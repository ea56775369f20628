import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench, Scenario } from '../bench.ts';
import type { Contender } from '../contender.ts';
import { bareServer } from '../contenders/node.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { cpuMicroseconds } from '../machine/process.ts';
import { inRounds, median, medianRatio, spread } from '../statistics.ts';
import { atMost, milliseconds, times, type Line } from '../table.ts';

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
    const byName = new Map(contenders.map((contender) => [contender.name, contender]));
    const samples = await inRounds(bench.rounds, byName, (contender) => firstAnswer(bench, contender, token));
    const of = (name: string, member: keyof FirstAnswer): readonly number[] =>
      (samples.get(name) ?? []).map((answer) => answer[member]);
    return contenders.map(({ name }): Line => {
      const { low, median: ms, high } = spread(of(name, 'ms'));
      return {
        subject: name,
        cells: {
          ms: ms.toFixed(0),
          'in half of the rounds': `${low.toFixed(0)}–${high.toFixed(0)}`,
          'CPU ms': median(of(name, 'cpuMs')).toFixed(0),
          'over a bare Node server': times(medianRatio(of(name, 'ms'), of(bareServer.name, 'ms'))),
        },
        aims: name === bareServer.name ? [] : [atMost(name, AIM_MS, ms, milliseconds)],
      };
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
