import type { Random } from './engine/random.ts';

/** What came of one case. */
export interface Outcome {
  /** Which way the case went, in a word or two: a way that was not seen before makes it worth keeping. */
  readonly way: string;
  /** Whether it got through: what is made of it may get as far. */
  readonly passed?: boolean;
  /** What must never be; undefined where all held. */
  readonly finding?: string | undefined;
}

/** Something that reads bytes, and what must hold whatever they are. */
export interface Target {
  /** Cases that run between two looks at what ran. */
  readonly batch: number;
  /** Texts that mean something to it, for cases to be made of. */
  readonly words: readonly string[];
  /** Makes another case of one, by its grammar; undefined: only bytes are changed. */
  readonly mutate?: (input: Buffer, random: Random) => Buffer;
  /** One outcome a case, in their order. Never rejects for what a case does. */
  run(inputs: readonly Buffer[]): Promise<readonly Outcome[]>;
  /** What else it has counted, for people. */
  summary?(): string;
  close?(): Promise<void>;
}

/** What a parser's case gave: which way it went. Throws for what must never be. */
export type Check = (input: Buffer) => string;

/** A target that needs nothing but a function. */
export function parserTarget(check: Check, words: readonly string[], mutate?: Target['mutate']): Target {
  return {
    batch: 2000,
    words,
    ...(mutate !== undefined && { mutate }),
    run: (inputs) => Promise.resolve(inputs.map((input) => outcomeOf(check, input))),
  };
}

/** Reading what a caller sent must not take long, whatever it is. */
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

/** What it takes of a processor: the machine may have stood still, or be wanted by others. */
function computingMs(run: () => void): number {
  const began = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}
