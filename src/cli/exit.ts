import { coloured } from './colour.ts';
import { ConfigError } from '../config/problems.ts';
import { readFault } from '../lib/files.ts';

/** The exit code of a command. 0: done; 1: failed, or found something wrong; 2: wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** A wrong use of options; the message is for the operator who typed them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Prints the result of a command, which is then done. */
export function print(text: string): ExitCode {
  process.stdout.write(text);
  return 0;
}

/** Prints the problems of a {@link ConfigError} to stderr, one a line, then their number. Rethrows any other error. */
export function reportProblems(file: string, error: unknown): ExitCode {
  if (!(error instanceof ConfigError)) throw error;
  const { problems } = error;
  for (const problem of problems) process.stderr.write(`${String(problem)}\n`);
  const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
  process.stderr.write(`${file}: ${coloured('bad', count, process.stderr)}\n`);
  return 1;
}

/** Prints to stderr why a file cannot be read. Rethrows an error that is not the system's. */
export function reportUnreadable(file: string, error: unknown): ExitCode {
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  process.stderr.write(`sallyport: ${file}: ${readFault(error)}\n`);
  return 1;
}
