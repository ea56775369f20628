import { createInterface } from 'node:readline/promises';
import { printable } from '../lib/wording.ts';
import { type ExitCode, print, UsageError } from './exit.ts';
import { askGateway, operatorAccess, OperatorFault } from './operator-request.ts';

/** The options of `revoke`. */
export interface RevokeOptions {
  readonly config: string;
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  readonly email: string | undefined;
  readonly list: boolean;
  readonly yes: boolean;
  readonly admin: string | undefined;
}

/**
 * `sallyport revoke`: ends the rights of a person at a running gateway, or lists what it keeps.
 *
 * @throws {UsageError}
 */
export async function revoke(options: RevokeOptions): Promise<ExitCode> {
  const { subject, issuer, email, list, yes } = options;
  const isPerson = subject !== undefined && issuer !== undefined;
  if (
    [isPerson, email !== undefined, list].filter(Boolean).length !== 1 ||
    (!isPerson && (subject ?? issuer) !== undefined)
  )
    throw new UsageError('pass --subject SUB with --issuer URL, or --email ADDRESS, or --list');
  try {
    const access = await operatorAccess(options.config, options.admin);
    const who =
      email === undefined ? `the subject ${printable(subject ?? '')} of ${printable(issuer ?? '')}` : printable(email);
    if (!list && !yes && !(await isConfirmed(`End all rights of ${who} now?`)))
      return fail('not revoked: answer y, or write --yes');
    const response = await askGateway(access, '/revocations', list ? undefined : { subject, issuer, email });
    if (!list) return print('revoked\n');
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) process.stdout.write(decoder.decode(chunk, { stream: true }));
    return 0;
  } catch (error) {
    if (!(error instanceof OperatorFault)) throw error;
    return error.message === '' ? 1 : fail(error.message);
  }
}

/** Asks on the terminal; without one, nothing is confirmed. */
async function isConfirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

function fail(why: string): ExitCode {
  process.stderr.write(`sallyport revoke: ${why}\n`);
  return 1;
}
