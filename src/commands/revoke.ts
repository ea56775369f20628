import { createInterface } from 'node:readline/promises';
import { printable } from '../core/lib/wording.ts';
import { harmlessJson } from '../core/telemetry/json-lines.ts';
import { type ExitCode, Failure, membersOf, print, UsageError, word } from '../capabilities/terminal.ts';
import { operatorAccess } from './operator.ts';
import type { OptionsOf } from './options.ts';

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
  const response = await access.ask('/revocations', list ? undefined : { subject, issuer, email });
  if (!list) return print(keptText(email !== undefined, await response.json()));
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) print(harmlessJson(decoder.decode(chunk, { stream: true })));
  return 0;
}

/** Says what the revocation does, and whom it cannot know. */
function keptText(isAddress: boolean, answer: unknown): string {
  const { until } = membersOf(answer);
  const whose = isAddress ? 'with that address' : 'of that subject';
  const kept = `kept: tokens ${whose} that were issued until ${word(until)} are refused, and their streams end\n`;
  if (!isAddress) return kept;
  return `${kept}tokens without a verified claim email are not found by it: end those with --subject and --issuer\n`;
}

/** Asks on the terminal; without one, nothing is confirmed. */
async function isConfirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}
