import type { Outcome, Target } from '../target.ts';
import { changedBytes } from '../mutate/bytes.ts';
import type { Coverage, Places } from './coverage.ts';
import { shrunk } from './shrink.ts';
import type { Random } from './random.ts';

/** One case that went a way, or reached a block, that none before it did. */
interface Kept {
  readonly input: Buffer;
  readonly places: Places;
}

/** What a run has come to. */
export interface Report {
  readonly cases: number;
  /** Those that reached what no case did that it began with, made small. */
  readonly kept: readonly Buffer[];
  readonly ways: number;
  readonly findings: number;
}

/** What must never be, and the smallest case for it that was found. */
export interface Finding {
  readonly input: Buffer;
  readonly what: string;
}

/** How a run goes. */
export interface Settings {
  readonly cases: number;
  readonly random: Random;
  readonly coverage: Coverage;
  readonly onProgress: (cases: number, kept: number) => void;
  /** Told at once: a run may be long. */
  readonly onFinding: (finding: Finding) => void;
  /** Whether what led somewhere new is wanted, and so made small. */
  readonly shrink: boolean;
}

/** Each kind is told once, and no more than so many: whoever reads them mends the first ones. */
const MAX_FINDINGS = 20;
const longest = 64 * 1024;

/**
 * Runs `cases` cases against a target, made of `seeds` and of whatever led somewhere new. The cases follow from the seed
 * of `random` alone, as far as the target's ways do.
 */
export async function fuzz(target: Target, seeds: readonly Buffer[], settings: Settings): Promise<Report> {
  const { random, coverage, onProgress, onFinding } = settings;
  const pool: Buffer[] = [];
  const passed: Buffer[] = [];
  const kept: Kept[] = [];
  /** How many cases went each. */
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
  // What only went another way is made again soon enough by who begins with the rest.
  for (const one of settings.shrink ? kept.filter(({ places }) => places.size > 0) : [])
    smaller.push(await smallestLike(one));
  return { cases, kept: smaller, ways: ways.size, findings: findings.size };

  /** Newer ones more often: they are where nobody has been. But most of what is made of a refused case is refused too. */
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
      // Whoever has been where nobody was went most likely a way that few go.
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

  /** Finds out which of `inputs` reached `places`: the likely ones, which are first, and then by halves the others. */
  async function attribute(inputs: readonly Buffer[], places: Places, areSorted = true): Promise<void> {
    const first = inputs.slice(0, Math.ceil(inputs.length / (areSorted ? 4 : 2)));
    const outcomes = await target.run(first);
    const { fresh } = coverage.look();
    if (inputs.length === 1) {
      if (fresh.size > 0) keepCase({ input: inputs[0] as Buffer, places: fresh });
      if (fresh.size > 0 && outcomes[0]?.passed === true) passed.push(inputs[0] as Buffer);
      // What does not come again, such as what runs once or by a timer, is nobody's.
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
