import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { residentKiB } from './memory.ts';
import { answering } from './process.ts';
import type { Alive } from './probe.ts';

/** The gateway as a process of its own, as operators run it. */
export interface GatewayProcess {
  readonly pid: number;
  readonly metrics: () => Promise<Metrics>;
  readonly sample: () => Promise<Sample>;
  /** A sample after a garbage collection, which stops the process for a moment. */
  readonly deepSample: () => Promise<DeepSample>;
  /** Stops the process. Resolves when it has ended and its log is read to the end. */
  stop(): Promise<void>;
}

/** The resources of a process at one time. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly residentMiB: number;
  readonly descriptors: number;
  readonly streams: number;
  /** The delay of the event loop, 99th percentile, in ms. */
  readonly lagMs: number;
}

/** With the result of a garbage collection. */
export interface DeepSample extends Sample {
  readonly heapMiB: number;
  readonly timers: number;
}

/** A page of `/metrics`. */
export interface Metrics {
  /** The sum of all time series with the name. */
  sum(name: string): number;
  /** The sums of the time series with the name, by the values of `labels`, joined by spaces. */
  by(name: string, labels: readonly string[]): ReadonlyMap<string, number>;
  /** The number of time series. */
  readonly series: number;
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const probe = fileURLToPath(new URL('probe.ts', import.meta.url));
const MIB = 1024 * 1024;

/** Starts a gateway with a configuration file. `onLine` gets each line of its log; without it the log is discarded. */
export async function startGateway(
  file: string,
  adminUrl: string,
  onLine?: (line: string) => void,
): Promise<GatewayProcess> {
  const command = ['--import', probe, main, 'serve', '--config', file];
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', onLine === undefined ? 'ignore' : 'pipe', 'inherit', 'ipc'],
  });
  const lines = child.stdout && createInterface(child.stdout).on('line', onLine ?? (() => {}));
  const ended = Promise.all([once(child, 'exit'), lines && once(lines, 'close')]);
  const pid = child.pid ?? 0;
  const began = performance.now();
  await answering(`${adminUrl}/readyz`);
  const metrics = async (): Promise<Metrics> => parse(await (await fetch(`${adminUrl}/metrics`)).text());
  async function sample(): Promise<Sample> {
    const page = await metrics();
    return {
      at: Math.round((performance.now() - began) / 1000),
      residentMiB: residentKiB([pid]) / 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      streams: page.sum('sallyport_open_streams'),
      lagMs: page.sum('nodejs_eventloop_lag_p99_seconds') * 1000,
    };
  }
  return {
    pid,
    metrics,
    sample,
    async deepSample() {
      const shallow = await sample();
      const answer = once(child, 'message');
      child.send('what is alive?');
      const [{ heapBytes, timers }] = (await answer) as [Alive];
      return { ...shallow, heapMiB: heapBytes / MIB, timers };
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function parse(page: string): Metrics {
  const series = page.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-z0-9_]+)(?:\{(.*)\})? ([0-9.e+-]+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text] as const);
    return [{ name, labels: new Map(pairs), value: Number(value) }];
  });
  return {
    sum: (name) => series.filter((each) => each.name === name).reduce((sum, { value }) => sum + value, 0),
    by(name, labels) {
      const sums = new Map<string, number>();
      for (const each of series) {
        if (each.name !== name) continue;
        const key = labels.map((label) => each.labels.get(label) ?? '').join(' ');
        sums.set(key, (sums.get(key) ?? 0) + each.value);
      }
      return sums;
    },
    series: series.length,
  };
}
