import type { Bench } from './bench.ts';
import type { Line } from './table.ts';

/** Something that is measured. */
export interface Scenario {
  readonly name: string;
  /** What, in a sentence. */
  readonly about: string;
  readonly run: (bench: Bench) => Promise<readonly Line[]>;
}
