import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createJsonLines, type JsonLines } from '../telemetry/json-lines.ts';
import type { Log } from '../telemetry/log.ts';
import { lineOutput, type OnLost } from './standard-output.ts';

/** The file of `log.file`. */
export interface DecisionFile {
  readonly lines: JsonLines;
  /** Opens the path again, after the file was renamed. The open file stays in use if that fails; `log` says why. */
  reopen(log: Log): void;
  close(): Promise<void>;
}

/** Why the gateway cannot start, in one line. */
export class DecisionFileFault extends Error {
  override readonly name = 'DecisionFileFault';
}

/**
 * Appending lets several processes write to one file: the system adds each write to the end as a whole. A pipe without
 * a reader is an error at once, instead of a thread that waits.
 */
const FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NONBLOCK;
/** Decisions name people: by default only the user of the gateway may read them. */
const MODE = 0o600;

/**
 * Opens the file that decisions are appended to.
 *
 * @throws {DecisionFileFault} if it cannot be opened.
 */
export async function openDecisionFile(path: string, onLost: OnLost): Promise<DecisionFile> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS, MODE);
  } catch (error) {
    throw new DecisionFileFault(`log.file: ${(error as Error).message}`);
  }
  const output = lineOutput(() => file.fd, onLost);
  const lines = createJsonLines(output, () => onLost(1));

  async function reopen(log: Log): Promise<void> {
    try {
      const before = file;
      file = await open(path, FLAGS, MODE);
      // A write under way may still use it; this callback runs after that write.
      output.write('', () => void before.close());
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.event('error', 'the decision log file cannot be opened again; the gateway uses the open one', { why });
    }
  }

  return {
    lines,
    reopen: (log) => void reopen(log),
    async close() {
      await lines.close();
      await file.close();
    },
  };
}
