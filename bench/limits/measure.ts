import { setTimeout as wait } from 'node:timers/promises';
import { bytesOf } from '../load/connection.ts';
import { steady } from '../load/steady.ts';
import { giveContenderCore } from '../machine/cores.ts';
import { forgetPeak, peakKiB, residentKiB } from '../machine/memory.ts';
import { stolenMs } from '../machine/stolen.ts';
import { quantile } from '../statistics.ts';
import { startNoisyClient } from './noisy-client.ts';
import { createSigner, startWorld, type Target } from './world.ts';

/** The effects of a noise. */
export interface Measured {
  /** The number of answers by status; 0 for connections that closed without one. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Before the noise, at the peak, and after it. */
  readonly residentMiB: readonly [number, number, number];
  /** The p99 of a well-behaved client, without and with the noise. */
  readonly aloneMs: number;
  readonly besideMs: number;
  /** The number of time series of `/metrics` at the end. */
  readonly series: number;
}

const ROUNDS = 2;
const PER_SECOND = 100;
const CONNECTIONS = 4;
/** The most measurements of a second, for each one that counts. */
const TRIES = 4;
/** The most time that the host may take from a second that counts at once. */
const LITTLE_MS = 10;
const SETTLE_MS = 1_000;
/** Warms up V8 in the gateway with some ten thousand requests. */
const WARM_UP = 'a valid token, as fast as it goes';
const WARM_UP_SECONDS = 8;

/**
 * Measures one noise against a new gateway.
 *
 * @param onStep Called with a description of each step that begins.
 */
export async function measure(name: string, seconds: number, onStep: (step: string) => void): Promise<Measured> {
  onStep('the gateway starts');
  const { gateway, target, close } = await startWorld();
  giveContenderCore(gateway.pid);
  const noise = startNoisyClient(name, target);
  try {
    const headers = { Authorization: `Bearer ${createSigner(target)('quiet')}` };
    const bytes = bytesOf(target.url, { method: 'GET', path: '/quiet', headers });
    const second = async (): Promise<readonly number[]> =>
      (await steady(target.url, bytes, PER_SECOND, 1, CONNECTIONS)).latencies;
    const quiet = async (): Promise<number> => quantile(await leastDisturbed(second, seconds), 0.99);
    onStep(`the gateway warms up for ${WARM_UP_SECONDS} s`);
    await warmUp(target);
    const before = residentKiB([gateway.pid]);
    forgetPeak(gateway.pid);
    const [alone, beside]: [number[], number[]] = [[], []];
    const statuses: Record<string, number> = {};
    for (let round = 0; round < ROUNDS; round += 1) {
      const of = `in round ${round + 1} of ${ROUNDS}`;
      onStep(`the well-behaved client is alone ${of}`);
      alone.push(await quiet());
      onStep(`the noise begins ${of}`);
      await noise.begin();
      onStep(`the well-behaved client is beside the noise ${of}`);
      beside.push(await quiet());
      onStep(`the noise ends ${of}`);
      for (const [status, count] of Object.entries(await noise.end())) {
        statuses[status] = (statuses[status] ?? 0) + count;
      }
    }
    await wait(SETTLE_MS);
    const resident = [before, peakKiB(gateway.pid), residentKiB([gateway.pid])] as const;
    const { series } = await gateway.metrics();
    return {
      statuses,
      residentMiB: [resident[0] / 1024, resident[1] / 1024, resident[2] / 1024],
      aloneMs: Math.min(...alone),
      besideMs: Math.min(...beside),
      series,
    };
  } finally {
    noise.close();
    await close();
  }
}

async function warmUp(target: Target): Promise<void> {
  const client = startNoisyClient(WARM_UP, target);
  await client.begin();
  await wait(WARM_UP_SECONDS * 1_000);
  await client.end();
  client.close();
}

/** The latencies of the measured seconds in which the host took the least time from the cores. */
async function leastDisturbed(second: () => Promise<readonly number[]>, seconds: number): Promise<number[]> {
  const measured: { readonly latencies: readonly number[]; readonly stolen: number }[] = [];
  const undisturbed = (): number => measured.filter(({ stolen }) => stolen <= LITTLE_MS).length;
  while (undisturbed() < seconds && measured.length < TRIES * seconds) {
    const before = stolenMs();
    const latencies = await second();
    measured.push({ latencies, stolen: stolenMs() - before });
  }
  return measured
    .toSorted((one, other) => one.stolen - other.stolen)
    .slice(0, seconds)
    .flatMap(({ latencies }) => latencies);
}
