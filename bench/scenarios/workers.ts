import type { Scenario } from '../bench.ts';
import { measureCpu } from '../compare-cpu.ts';
import type { Contender } from '../contender.ts';
import { createSallyport } from '../contenders/sallyport.ts';
import { median, ratios, spread } from '../statistics.ts';
import { atMost, timesSpread, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const AIM_WORKERS = 1.1;

/**
 * Two workers compared with one process, and with two processes that know nothing of each other. Two processes share the
 * caches of the core and its time, so that a request costs more in each, whatever connects them.
 */
export const workers: Scenario = {
  name: 'workers',
  about:
    'GET by two workers, by one process and by two, all on one core: the CPU time of all processes for each request',
  async run(bench) {
    const request = requestOf('get', await bench.token());
    const one = createSallyport({ name: 'one process' });
    const two = createPair('two processes');
    const working = createSallyport({ name: 'two workers', workers: 2 });
    const samples = await bench.with([one, two, working], (running) => measureCpu(bench, running, request));
    const cpuOf = ({ name }: Contender): readonly number[] => samples.get(name) ?? [];
    return [one, two, working].map((contender): Line => {
      const others = contender === working ? [one, two] : [one].filter((other) => other !== contender);
      const compared = others.map((other) => ({ other, ratio: spread(ratios(cpuOf(contender), cpuOf(other))) }));
      const cells = compared.map(({ other, ratio }) => [`compared with ${other.name}`, timesSpread(ratio)]);
      return {
        subject: contender.name,
        cells: { 'CPU µs/request': median(cpuOf(contender)).toFixed(1), ...Object.fromEntries(cells) },
        aims:
          contender === working
            ? compared.map(({ other, ratio }) => atMost(`compared with ${other.name}`, AIM_WORKERS, ratio.median))
            : [],
      };
    });
  },
};

/** Two gateways on the same core, which share the load. */
function createPair(name: string): Contender {
  const one = createSallyport({ name: `${name}, the first` });
  const other = createSallyport({ name: `${name}, the second` });
  return {
    name,
    does: one.does,
    async start(surroundings) {
      const [first, second] = await Promise.all([one.start(surroundings), other.start(surroundings)]);
      return {
        url: first.url,
        moreUrls: [second.url],
        pids: [...first.pids, ...second.pids],
        stop: async () => void (await Promise.all([first.stop(), second.stop()])),
      };
    },
  };
}
