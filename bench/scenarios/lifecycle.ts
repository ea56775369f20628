/**
 * Start, reload, and several workers.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench } from '../bench.ts';
import { measureCpu } from '../compare-cpu.ts';
import { createSallyport, type RunningSallyport, type SallyportContender } from '../contenders/sallyport.ts';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { residentKiB } from '../machine/memory.ts';
import type { Scenario } from '../scenario.ts';
import { median, medianRatio } from '../statistics.ts';
import { requestOf } from './requests.ts';

const AIM_START_MS = 400;
const AIM_WORKERS = 1.85;
const PER_SECOND = 500;
const RELOAD_EACH_MS = 250;

/** The time from the command to the first allowed request. */
export const start: Scenario = {
  name: 'start',
  about: 'from the command to the first answered request with a token',
  async run(bench) {
    await promisify(execFile)('npm', ['run', 'bundle'], { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
    const token = await bench.token();
    const bundle = createSallyport({ name: 'the bundle, as in the image', program: 'bundle/main.js' });
    const sources = createSallyport({ name: 'the sources, as `npm start` does' });
    // The first start of each fills Node's compile cache.
    for (const contender of [bundle, sources]) await firstAnswer(bench, contender, token);
    const times = new Map([bundle, sources].map(({ name }) => [name, [] as number[]]));
    for (let round = 0; round < bench.rounds; round += 1) {
      for (const one of [bundle, sources]) times.get(one.name)?.push(await firstAnswer(bench, one, token));
    }
    return [...times].map(([subject, all]) => ({
      subject,
      cells: { ms: median(all).toFixed(0), range: `${Math.min(...all).toFixed(0)}–${Math.max(...all).toFixed(0)}` },
      aim: { at: `≤ ${AIM_START_MS} ms`, met: median(all) <= AIM_START_MS },
    }));
  },
};

async function firstAnswer(bench: Bench, contender: SallyportContender, token: string): Promise<number> {
  const since = performance.now();
  return bench.with([contender], async (running) => {
    const { url = '' } = running.get(contender.name) ?? {};
    const answer = await fetch(`${url}/api`, { headers: { authorization: `Bearer ${token}` } });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the first request got ${answer.status}`);
    return performance.now() - since;
  });
}

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
          aim: { at: 'none lost', met: failed === 0 && tookEffect },
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

/** Two workers compared with one process. */
export const workers: Scenario = {
  name: 'workers',
  about:
    'GET by two workers and by one process, all on one core; twice the ratio of their CPU is the limit for two cores',
  async run(bench) {
    const request = requestOf('get', await bench.token());
    const one = createSallyport({ name: 'one process' });
    const two = createSallyport({ name: 'two workers', workers: 2 });
    const samples = await bench.with([one, two], (running) => measureCpu(bench, running, () => request));
    const cpuOf = (name: string): readonly number[] => samples.get(name)?.cpuMicroseconds ?? [];
    const speedUp = 2 * medianRatio(cpuOf(one.name), cpuOf(two.name));
    return [
      { subject: one.name, cells: { 'CPU µs/request': median(cpuOf(one.name)).toFixed(1), 'derived speed': '1' } },
      {
        subject: two.name,
        cells: { 'CPU µs/request': median(cpuOf(two.name)).toFixed(1), 'derived speed': `${speedUp.toFixed(2)} ×` },
        aim: { at: `≥ ${AIM_WORKERS} × (${cpus().length} cores here)`, met: speedUp >= AIM_WORKERS },
      },
    ];
  },
};
