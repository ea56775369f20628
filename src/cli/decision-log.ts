import { recordedDecision, type RecordedDecision } from '../review/recorded-decision.ts';
import { followedLines, linesOf } from './log-lines.ts';

/**
 * The decisions of a log, one JSON object a line; undefined for any other line, and for one that was cut off.
 *
 * @param file `-` reads stdin.
 * @param follow Whether to wait for more lines at the end of the file.
 * @throws the system's error if the file cannot be read.
 */
export async function* decisionsIn(file: string, follow = false): AsyncGenerator<RecordedDecision | undefined> {
  for await (const line of follow && file !== '-' ? followedLines(file) : linesOf(file)) {
    if (line.trim() !== '') yield decisionOf(line);
  }
}

function decisionOf(line: string): RecordedDecision | undefined {
  // Log collectors put a timestamp or a container's name before the line.
  const start = line.indexOf('{');
  if (start === -1 || !line.includes('"decision"')) return undefined;
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line.slice(start)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  return recordedDecision(entry);
}
