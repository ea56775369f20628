import type { Mutate } from './cases.ts';

/** Code that reads bytes, with the checks that must hold for any bytes. */
export interface Reader {
  /** Texts with a meaning to the reader. They are inserted into cases. */
  readonly words: readonly string[];
  readonly mutate?: Mutate;
  /** Throws, or rejects, if a check fails. */
  check(input: Buffer): unknown;
}
