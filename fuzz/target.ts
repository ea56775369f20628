import type { Random } from './engine/random.ts';

/** The outcome of one case. */
export interface Outcome {
  /** The way that the case went, in a few words. The fuzzer builds on a case that went a new way. */
  readonly way: string;
  /** Whether the gateway accepted the case. Variations of it may also be accepted. */
  readonly passed?: boolean;
  /** What is wrong; undefined if every check held. */
  readonly finding?: string | undefined;
}

/** Code that reads bytes, with the checks that must hold for any bytes. */
export interface Target {
  /** The number of cases between two readings of the coverage. */
  readonly batch: number;
  /** Texts with a meaning to the target. The fuzzer inserts them into cases. */
  readonly words: readonly string[];
  /** Makes another case from one by its grammar. If undefined, the fuzzer only changes bytes. */
  readonly mutate?: (input: Buffer, random: Random) => Buffer;
  /** One outcome for each case, in order. Never rejects because of a case. */
  run(inputs: readonly Buffer[]): Promise<readonly Outcome[]>;
  /** Further counts, as text for the output. */
  summary?(): string;
  close?(): Promise<void>;
}

/** Runs a case and returns the way it went. Throws if a check fails. */
export type Check = (input: Buffer) => string;

/** A target made of a function. */
export function parserTarget(check: Check, words: readonly string[], mutate?: Target['mutate']): Target {
  return {
    batch: 2000,
    words,
    ...(mutate !== undefined && { mutate }),
    run: (inputs) => Promise.resolve(inputs.map((input) => outcomeOf(check, input))),
  };
}

/** The longest time that a parser may take for any input. */
const MAX_MS = 500;

function outcomeOf(check: Check, input: Buffer): Outcome {
  try {
    const began = performance.now();
    const way = check(input);
    const isSlow = performance.now() - began > MAX_MS && computingMs(() => check(input)) > MAX_MS;
    return isSlow ? { way: 'finding', finding: `takes more than ${MAX_MS} ms` } : { way };
  } catch (error) {
    return { way: 'finding', finding: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** CPU time. Elapsed time also counts a paused or busy machine. */
function computingMs(run: () => void): number {
  const began = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}
