import type { Outcome, Target } from '../target.ts';
import { changedBytes } from '../mutate/bytes.ts';
import type { Coverage, Places } from './coverage.ts';
import { shrunk } from './shrink.ts';
import type { Random } from './random.ts';

/** A case that went a new way or reached a new block. */
interface Kept {
  readonly input: Buffer;
  readonly places: Places;
}

/** The result of a run. */
export interface Report {
  readonly cases: number;
  /** Cases that reached code that the initial cases did not reach, shrunk. */
  readonly kept: readonly Buffer[];
  readonly ways: number;
  readonly findings: number;
}

/** A failed check, with the smallest case for it that the fuzzer found. */
export interface Finding {
  readonly input: Buffer;
  readonly what: string;
}

/** Settings of a run. */
export interface Settings {
  readonly cases: number;
  readonly random: Random;
  readonly coverage: Coverage;
  readonly onProgress: (cases: number, kept: number) => void;
  /** Called at once, because a run may be long. */
  readonly onFinding: (finding: Finding) => void;
  /** Whether to return the kept cases, shrunk. */
  readonly shrink: boolean;
}

/** The most findings of one run. Each kind is reported once. */
const MAX_FINDINGS = 20;
const longest = 64 * 1024;

/**
 * Runs `cases` cases against a target, made from `seeds` and from cases that reached something new. If the target is
 * deterministic, the seed of `random` determines the cases.
 */
export async function fuzz(target: Target, seeds: readonly Buffer[], settings: Settings): Promise<Report> {
  const { random, coverage, onProgress, onFinding } = settings;
  const pool: Buffer[] = [];
  const passed: Buffer[] = [];
  const kept: Kept[] = [];
  /** The number of cases for each way. */
  const ways = new Map<string, number>();
  const findings = new Set<string>();
  let cases = 0;
  for (let at = 0; at < seeds.length; at += target.batch) await runBatch(seeds.slice(at, at + target.batch), false);
  if (pool.length === 0) pool.push(Buffer.alloc(0));
  while (cases < settings.cases && findings.size < MAX_FINDINGS) {
    const size = Math.min(target.batch, settings.cases - cases);
    await runBatch(
      Array.from({ length: size }, () => made()),
      true,
    );
    cases += size;
    onProgress(cases, kept.length);
  }
  const smaller: Buffer[] = [];
  // A case that only went a new way is soon found again from the others.
  for (const one of settings.shrink ? kept.filter(({ places }) => places.size > 0) : [])
    smaller.push(await smallestLike(one));
  return { cases, kept: smaller, ways: ways.size, findings: findings.size };

  /** Prefers newer cases, which are close to new code, and accepted ones, whose variations mostly are accepted too. */
  function chosen(): Buffer {
    if (passed.length > 0 && random.chance(0.6)) return random.pick(passed);
    return pool[Math.floor(pool.length * Math.sqrt(random.below(1 << 20) / (1 << 20)))] as Buffer;
  }

  function made(): Buffer {
    let input = chosen();
    const times = random.chance(0.5) ? 1 : 1 << random.below(4);
    for (let i = 0; i < times; i += 1) {
      input =
        target.mutate !== undefined && random.chance(0.7)
          ? target.mutate(input, random)
          : changedBytes(input, chosen(), target.words, random);
    }
    return input.subarray(0, longest);
  }

  async function runBatch(inputs: readonly Buffer[], isNew: boolean): Promise<void> {
    const outcomes = await target.run(inputs);
    const { fresh } = coverage.look();
    for (const [i, outcome] of outcomes.entries()) await judge(inputs[i] as Buffer, outcome, isNew);
    if (!isNew) {
      coverage.keep(fresh);
      pool.push(...inputs);
    } else if (fresh.size > 0) {
      // A case that reached new code most likely went a rare way.
      const rarest = outcomes.map(({ way }, i) => ({ input: inputs[i] as Buffer, times: ways.get(way) ?? 0 }));
      rarest.sort((one, other) => one.times - other.times);
      await attribute(
        rarest.map(({ input }) => input),
        fresh,
      );
    }
  }

  async function judge(input: Buffer, { way, finding, ...outcome }: Outcome, isNew: boolean): Promise<void> {
    if (finding !== undefined) {
      const [kind = ''] = finding.split('\n');
      if (findings.has(kind) || findings.size >= MAX_FINDINGS) return;
      findings.add(kind);
      onFinding({ input: await smallestWith(input), what: finding });
      return;
    }
    const times = ways.get(way) ?? 0;
    ways.set(way, times + 1);
    if (outcome.passed === true && (!isNew || times === 0)) passed.push(input);
    if (isNew && times === 0) keepCase({ input, places: new Map() });
  }

  function keepCase(one: Kept): void {
    kept.push(one);
    pool.push(one.input);
  }

  /** Finds which of `inputs` reached `places`: tries the likely ones first, then halves the rest. */
  async function attribute(inputs: readonly Buffer[], places: Places, areSorted = true): Promise<void> {
    const first = inputs.slice(0, Math.ceil(inputs.length / (areSorted ? 4 : 2)));
    const outcomes = await target.run(first);
    const { fresh } = coverage.look();
    if (inputs.length === 1) {
      if (fresh.size > 0) keepCase({ input: inputs[0] as Buffer, places: fresh });
      if (fresh.size > 0 && outcomes[0]?.passed === true) passed.push(inputs[0] as Buffer);
      // Code that does not run again, for example once or by a timer, belongs to no case.
      coverage.keep(fresh);
      coverage.keep(places);
      return;
    }
    if (fresh.size > 0) await attribute(first, fresh, areSorted);
    const left = coverage.unknown(places);
    if (left.size > 0) await attribute(inputs.slice(first.length), left, false);
  }

  async function smallestLike({ input, places }: Kept): Promise<Buffer> {
    return shrunk(input, 30, async (candidate) => {
      const [outcome] = await target.run([candidate]);
      return coverage.look().covers(places) && outcome?.finding === undefined;
    });
  }

  async function smallestWith(input: Buffer): Promise<Buffer> {
    return shrunk(input, 200, async (candidate) => {
      const [outcome] = await target.run([candidate]);
      coverage.look();
      return outcome?.finding !== undefined;
    });
  }
}
