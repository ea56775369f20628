/** @module What all commands share: exit codes, failures, and what they print and read. */

import { text } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { ConfigError } from '../core/config/problems.ts';
import { readFault } from '../core/lib/files.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { harmlessJson } from '../core/telemetry/json-lines.ts';

/** The exit code of a command. 0: done; 1: failed, or found something wrong; 2: wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** A wrong use of options; the message is for the operator who typed them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Why a command failed, for its operator. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** Begins the line that is printed. */
  readonly program: string;

  constructor(message: string, program = 'sallyport') {
    super(message);
    this.program = program;
  }
}

/** Why a file cannot be read. Rethrows an error that is not the system's. */
export function unreadable(file: string, error: unknown): Failure {
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  return new Failure(`${file}: ${readFault(error)}`);
}

/** A value as JSON on lines of its own. What callers chose cannot reach the terminal as a command. */
export function jsonText(value: unknown, indent?: number): string {
  return `${harmlessJson(JSON.stringify(value, undefined, indent))}\n`;
}

/** Prints the result of a command, which is then done. */
export function print(result: string): ExitCode {
  process.stdout.write(result);
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

/** Resolves at the first SIGTERM or SIGINT. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve);
  });
}

const colours = { good: 'green', warning: 'yellow', bad: 'red' } as const;

/**
 * Text in a colour if `stream` is a terminal. `NO_COLOR` and `FORCE_COLOR` decide otherwise, as Node's
 * `util.styleText` documents. No meaning is in the colour alone.
 */
export function coloured(
  kind: keyof typeof colours,
  content: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(colours[kind], content, { stream });
}

/**
 * The token that `--token -` reads from stdin, so that no list of processes and no shell history has it; undefined
 * without the option.
 *
 * @throws {UsageError} for any other value.
 */
export async function tokenOnStdin(option: string | undefined): Promise<string | undefined> {
  if (option === undefined) return undefined;
  // The message must not repeat it: it may be a token.
  if (option !== '-') throw new UsageError('--token takes only -, and reads the token from stdin');
  return (await text(process.stdin)).trim();
}

/** The members of a value that another process sent; none of anything but an object. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** A word that cannot be taken for two. */
export function word(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value ?? '');
}
