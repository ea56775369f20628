import { createInterface } from 'node:readline/promises';
import { printable } from '../lib/wording.ts';
import { askGateway, operatorAccess } from './operator-request.ts';
import type { OptionsOf } from './options.ts';
import { type ExitCode, Failure, print, UsageError } from './terminal.ts';

/**
 * `sallyport revoke`: ends the rights of a person at a running gateway, or lists what it keeps.
 *
 * @throws {UsageError} {@link Failure} if it is not confirmed, or the gateway refuses.
 */
export async function revoke(options: OptionsOf<'revoke'>): Promise<ExitCode> {
  const { subject, issuer, email, list, yes } = options;
  const isPerson = subject !== undefined && issuer !== undefined;
  if (
    [isPerson, email !== undefined, list].filter(Boolean).length !== 1 ||
    (!isPerson && (subject ?? issuer) !== undefined)
  )
    throw new UsageError('pass --subject SUB with --issuer URL, or --email ADDRESS, or --list');
  const access = await operatorAccess('revoke', options);
  const who =
    email === undefined ? `the subject ${printable(subject ?? '')} of ${printable(issuer ?? '')}` : printable(email);
  if (!list && !yes && !(await isConfirmed(`End all rights of ${who} now?`)))
    throw new Failure('not revoked: answer y, or write --yes', access.program);
  const response = await askGateway(access, '/revocations', list ? undefined : { subject, issuer, email });
  if (!list) return print('revoked\n');
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) process.stdout.write(decoder.decode(chunk, { stream: true }));
  return 0;
}

/** Asks on the terminal; without one, nothing is confirmed. */
async function isConfirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}
