/**
 * Reload, and several workers.
 *
 * @module
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { measureCpu } from '../compare-cpu.ts';
import type { Contender } from '../contender.ts';
import { createSallyport, type RunningSallyport } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { residentKiB } from '../machine/process.ts';
import type { Scenario } from '../scenario.ts';
import { median, ratios, spread } from '../statistics.ts';
import { atMost, type Line } from '../table.ts';
import { requestOf } from './requests.ts';

const AIM_WORKERS = 1.1;
const PER_SECOND = 500;
const RELOAD_EACH_MS = 250;

/** Repeated edits of the configuration under load. */
export const reload: Scenario = {
  name: 'reload',
  about: `GET at ${PER_SECOND} requests/s while the policies are saved every ${RELOAD_EACH_MS} ms`,
  async run(bench) {
    const request = requestOf('get', await bench.token());
    const seconds = bench.seconds * bench.rounds;
    return bench.with([createSallyport()], async (running) => {
      const { url, folder, adminUrl, pids } = running.get('sallyport') as RunningSallyport;
      const bytes = bytesOf(url, request);
      await steady(url, bytes, PER_SECOND, 2, 64);
      const before = { configuration: await configurationOf(adminUrl), kib: residentKiB(pids) };
      const file = join(folder, 'policies', 'reader.yaml');
      const text = await readFile(file, 'utf8');
      const done = new AbortController();
      const edits = editAgain(file, text, done.signal);
      const { latencies, failed } = await steady(url, bytes, PER_SECOND, seconds, 64);
      done.abort();
      await edits;
      const tookEffect = (await configurationOf(adminUrl)) !== before.configuration;
      return [
        {
          subject: 'sallyport',
          cells: {
            requests: `${latencies.length + failed}`,
            lost: `${failed}`,
            'edits took effect': tookEffect ? 'yes' : 'no',
            'memory MiB': `${(before.kib / 1024).toFixed(0)} → ${(residentKiB(pids) / 1024).toFixed(0)}`,
          },
          aims: [{ what: 'requests lost', at: 'none', reached: `${failed}`, met: failed === 0 && tookEffect }],
        },
      ];
    });
  },
};

/** Saves a file repeatedly. */
async function editAgain(file: string, text: string, until: AbortSignal): Promise<void> {
  for (let edit = 0; !until.aborted; edit += 1) {
    await writeFile(file, `${text}\n# ${edit}\n`);
    await wait(RELOAD_EACH_MS);
  }
}

/** The hash of the current configuration. */
async function configurationOf(adminUrl: string): Promise<string> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return /^sallyport_config_info\{hash="([0-9a-f]+)"\} 1$/m.exec(text)?.[1] ?? '';
}

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
      const cells = compared.map(({ other, ratio: { median: is, low, high } }) => [
        `compared with ${other.name}`,
        `${is.toFixed(2)} × (${low.toFixed(2)}–${high.toFixed(2)} ×)`,
      ]);
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
    missing: () => undefined,
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
