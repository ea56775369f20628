import { ConfigError } from '../config/problems.ts';

/** What a command ends with: done; refused or failed; wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** Options that contradict each other or say too little; told to whoever typed them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Prints what a {@link ConfigError} carries to stderr, one a line, then their number. Rethrows anything else: a bug. */
export function reportProblems(file: string, error: unknown): ExitCode {
  if (!(error instanceof ConfigError)) throw error;
  const { problems } = error;
  for (const problem of problems) process.stderr.write(`${String(problem)}\n`);
  process.stderr.write(`${file}: ${problems.length} problem${problems.length === 1 ? '' : 's'}\n`);
  return 1;
}
