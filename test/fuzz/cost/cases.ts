import { readFileSync } from 'node:fs';
import { cpuTime } from '../../support/cpu-time.ts';
import { type Reader, readers } from './readers.ts';

/** An input of a reader: `unit` again and again between two texts. */
export interface Shape {
  readonly reader: string;
  readonly before?: string;
  /** `#` stands for the number of the repetition, so that no two are equal. */
  readonly unit: string;
  readonly after?: string;
  /** Whether it is what honest parties send, beside which the others are measured. */
  readonly isOrdinary?: true;
}

/** The inputs that have been the dearest, and an ordinary one of each reader. */
export const corpus: readonly Shape[] = readFileSync(new URL('corpus.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Shape);

/** The reader of a shape. */
export function readerOf({ reader }: Pick<Shape, 'reader'>): Reader {
  const found = readers[reader];
  if (found === undefined) throw new Error(`no reader ${reader}`);
  return found;
}

/** The text of a shape with at most `bytes` bytes of UTF-8. */
export function textOf({ before = '', unit, after = '' }: Shape, bytes: number): string {
  const units: string[] = [];
  let left = bytes - Buffer.byteLength(before + after);
  for (;;) {
    const next = unit.replaceAll('#', String(units.length));
    left -= Buffer.byteLength(next);
    if (left < 0) return before + units.join('') + after;
    units.push(next);
  }
}

function reading({ read }: Reader, text: string): void {
  try {
    read(text);
  } catch {
    // What it costs to refuse counts as well.
  }
}

/**
 * The processor time of a reading of a text, in milliseconds: the mean of many, because the clock moves in steps of up to
 * 4 ms. A refusal is a reading too.
 */
export function meanCost(reader: Reader, text: string, times = 50): number {
  return cpuTime(() => Array.from({ length: times }, () => reading(reader, text))) / times;
}

/**
 * The least processor time of up to `times` readings of a text, in milliseconds; the first that takes less than `most` is
 * the last. The first readings compile and collect, and other processes slow some down: only a cost that stays is one.
 */
export function leastCost(reader: Reader, text: string, most: number, times = 30): number {
  let least = Infinity;
  for (let i = 0; i < times && least >= most; i += 1)
    least = Math.min(
      least,
      cpuTime(() => reading(reader, text)),
    );
  return least;
}
