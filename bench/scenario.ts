import type { Bench } from './bench.ts';
import type { Line } from './table.ts';

/** A benchmark. */
export interface Scenario {
  readonly name: string;
  /** What it measures, in a sentence. */
  readonly about: string;
  readonly run: (bench: Bench) => Promise<readonly Line[]>;
}
