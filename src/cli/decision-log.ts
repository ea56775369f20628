import { recordedDecision, type RecordedDecision } from '../review/recorded-decision.ts';
import { followedLines, linesOf } from './log-lines.ts';

/** A call that gave its part back to rules over time. */
export interface SettledCall {
  /** The id of the decision on it. */
  readonly settled: string;
}

/**
 * The decisions of a log, and what was settled, one JSON object a line; undefined for any other line, and for one that
 * was cut off.
 *
 * @param file `-` reads stdin.
 * @param follow Whether to wait for more lines at the end of the file.
 * @throws the system's error if the file cannot be read.
 */
export async function* recordsIn(
  file: string,
  follow = false,
): AsyncGenerator<RecordedDecision | SettledCall | undefined> {
  for await (const line of follow && file !== '-' ? followedLines(file) : linesOf(file)) {
    if (line.trim() === '') continue;
    const entry = entryOf(line);
    if (entry?.['msg'] === 'settled') yield { settled: String(entry['decision']) };
    else yield entry && recordedDecision(entry);
  }
}

/** {@link recordsIn}, with undefined for what was settled too. */
export async function* decisionsIn(file: string, follow = false): AsyncGenerator<RecordedDecision | undefined> {
  for await (const record of recordsIn(file, follow)) {
    yield record === undefined || 'settled' in record ? undefined : record;
  }
}

/** The members of a line that names a decision. */
function entryOf(line: string): Record<string, unknown> | undefined {
  // Log collectors put a timestamp or a container's name before the line.
  const start = line.indexOf('{');
  if (start === -1 || !line.includes('"decision"')) return undefined;
  try {
    return JSON.parse(line.slice(start)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
