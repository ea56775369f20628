import { text } from 'node:stream/consumers';
import { UsageError } from './exit.ts';

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
