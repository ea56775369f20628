import { ConfigError } from '../config/problems.ts';
import type { ExitCode } from './exit-code.ts';

/** Prints what a {@link ConfigError} carries to stderr, one a line, then their number. Rethrows anything else: a bug. */
export function reportProblems(file: string, error: unknown): ExitCode {
  if (!(error instanceof ConfigError)) throw error;
  const { problems } = error;
  for (const problem of problems) process.stderr.write(`${String(problem)}\n`);
  process.stderr.write(`${file}: ${problems.length} problem${problems.length === 1 ? '' : 's'}\n`);
  return 1;
}
