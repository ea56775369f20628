import { isObject } from '../lib/json/own-member.ts';
import { parsedJson } from '../lib/json/parsed.ts';
import { counted } from '../lib/wording.ts';
import type { DecisionRecord } from '../model/decision.ts';
import { recordedDecision } from '../review/recorded-decision.ts';
import { followedLines, linesOf } from './log-lines.ts';

/** The decision of a line. */
export interface LoggedDecision extends DecisionRecord {
  /** All members of the line. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** A call that was refunded: rules over time no longer count it. */
export interface SettledCall {
  /** The id of the decision on it. */
  readonly settled: string;
}

/** A line without a decision that can be read. */
export interface SkippedLine {
  /** `unreadable`: a decision that was cut off, or that has members of other types than the gateway writes. */
  readonly skipped: 'no decision' | 'unreadable' | 'too long';
}

/**
 * The decisions of a log, one JSON object a line, and which calls were settled.
 *
 * @param file `-` reads stdin.
 * @param follow Whether to wait for more lines at the end of the file.
 * @throws the system's error if the file cannot be read.
 */
export async function* recordsIn(
  file: string,
  follow = false,
): AsyncGenerator<LoggedDecision | SettledCall | SkippedLine> {
  for await (const line of follow && file !== '-' ? followedLines(file) : linesOf(file)) {
    if (line === undefined) yield { skipped: 'too long' };
    else if (line.trim() !== '') yield recordIn(line);
  }
}

/** {@link recordsIn}, with a line without a decision for what was settled. */
export async function* decisionsIn(file: string, follow = false): AsyncGenerator<LoggedDecision | SkippedLine> {
  for await (const record of recordsIn(file, follow)) {
    yield 'settled' in record ? { skipped: 'no decision' } : record;
  }
}

/** Counts of skipped lines. */
export class SkippedLines {
  readonly #counts = { 'no decision': 0, unreadable: 0, 'too long': 0 };

  add({ skipped }: SkippedLine): void {
    this.#counts[skipped] += 1;
  }

  get total(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
  }

  of(why: SkippedLine['skipped']): number {
    return this.#counts[why];
  }

  /** The decisions that may be missing, in words; empty for none. */
  get missing(): string {
    const { unreadable, 'too long': tooLong } = this.#counts;
    const words = [];
    if (unreadable > 0) words.push(counted(unreadable, 'unreadable decision'));
    if (tooLong > 0) words.push(`${counted(tooLong, 'line')} of more than 1 MiB`);
    return words.length === 0 ? '' : `skipped ${words.join(' and ')}`;
  }
}

function recordIn(line: string): LoggedDecision | SettledCall | SkippedLine {
  // Log collectors put a timestamp or a container's name before the line.
  const start = line.indexOf('{');
  if (start === -1 || !line.includes('"decision"')) return { skipped: 'no decision' };
  const entry = parsedJson(line.slice(start));
  if (!isObject(entry)) return { skipped: /"msg": ?"decision"/.test(line) ? 'unreadable' : 'no decision' };
  const { msg, decision } = entry;
  if (msg === 'settled') return typeof decision === 'string' ? { settled: decision } : { skipped: 'unreadable' };
  if (msg !== 'decision') return { skipped: 'no decision' };
  const record = recordedDecision(entry);
  return record === undefined ? { skipped: 'unreadable' } : { ...record, entry };
}

/** The time of a decision, RFC 3339; empty if the line has none. */
export function timeOf({ at }: Pick<DecisionRecord, 'at'>): string {
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}
