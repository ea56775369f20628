import { setTimeout as wait } from 'node:timers/promises';
import { edit, type Edits } from './edits.ts';
import type { DeepSample, GatewayProcess, Metrics, Sample } from '../machine/gateway.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { load } from './load.ts';
import { startWorld } from './world.ts';

/** Duration and load of a run. */
export interface SoakOptions {
  readonly durationMs: number;
  readonly perSecond: number;
  readonly sampleMs: number;
  readonly editMs: number;
  readonly tokenSeconds: number;
  readonly onSample: (sample: Sample | DeepSample) => void;
}

/** The results of a run. */
export interface Soaked {
  readonly samples: readonly Sample[];
  readonly deepSamples: readonly DeepSample[];
  /** Before the load, and after the last client has ended. */
  readonly base: DeepSample;
  readonly after: DeepSample;
  readonly ledger: Ledger;
  /** The gateway's `/metrics` at the end. */
  readonly metrics: Metrics;
  /** The calls that the authorization servers received, by their own count. */
  readonly asked: ReadonlyMap<string, number>;
  readonly edits: Edits;
  /** Errors that clients threw. */
  readonly faults: readonly string[];
}

/** How long connections and timers may remain after the load: keep-alive (65 s), lingering sockets, stopped watches. */
const REST_MS = 90_000;
/** One in this many samples is a deep one. */
const DEEP = 6;

/** Runs the test. */
export async function soak(options: SoakOptions): Promise<Soaked> {
  const ledger = createLedger();
  const world = await startWorld(ledger, options.tokenSeconds);
  try {
    const { gateway, tokens } = world;
    const base = await gateway.deepSample();
    const samples: Sample[] = [];
    const deepSamples: DeepSample[] = [];
    const end = new AbortController();
    const { signal } = end;
    // Streams, visitors and edits all listen to the signal.
    const held = Math.min(45_000, options.durationMs / 4);
    const loaded = load(ledger, world, { perSecond: options.perSecond, longestMs: held }, signal);
    const edited = edit(world, options.editMs, signal);
    const sampled = everyNow(options.sampleMs, signal, async () => {
      const deep = samples.length % DEEP === DEEP - 1 ? await gateway.deepSample() : undefined;
      if (deep !== undefined) deepSamples.push(deep);
      const sample = deep ?? (await gateway.sample());
      samples.push(sample);
      options.onSample(sample);
    });
    const failed = Promise.all([loaded, edited, sampled]);
    await Promise.race([wait(options.durationMs), failed]);
    end.abort();
    const [faults, edits] = await failed;
    await tokens.close();
    const after = await atRest(gateway, base);
    const metrics = await gateway.metrics();
    await gateway.stop();
    ledger.close();
    return { samples, deepSamples, base, after, ledger, metrics, asked: world.asked, edits, faults };
  } finally {
    await world.close();
  }
}

async function everyNow(ms: number, ending: AbortSignal, step: () => Promise<void>): Promise<void> {
  while (!ending.aborted) {
    await wait(ms, undefined, { signal: ending }).catch(() => undefined);
    if (!ending.aborted) await step();
  }
}

/** The first sample with no more resources than before the load, or the last one within {@link REST_MS}. */
async function atRest(gateway: GatewayProcess, base: DeepSample): Promise<DeepSample> {
  for (const until = performance.now() + REST_MS; ;) {
    const sample = await gateway.deepSample();
    const isRested = sample.descriptors <= base.descriptors && sample.timers <= base.timers && sample.streams === 0;
    if (isRested || performance.now() > until) return sample;
    await wait(1_000);
  }
}
