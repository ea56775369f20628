import { createInterface } from 'node:readline/promises';
import { isObject } from '../core/lib/json/own-member.ts';
import { printable } from '../core/lib/wording.ts';
import { harmlessJson } from '../core/telemetry/json-lines.ts';
import { type ExitCode, Failure, membersOf, print, UsageError, word } from '../capabilities/terminal.ts';
import type { OperatorAccess } from '../capabilities/command.ts';
import { operatorAccess } from './operator.ts';
import type { OptionsOf } from './options.ts';

type Options = OptionsOf<'revoke'>;

/**
 * `sallyport revoke`: ends the rights of a person, a client or an agent at a running gateway, withdraws such an end, or
 * lists what is kept.
 *
 * @throws {UsageError} {@link Failure} if it is not confirmed, or the gateway refuses.
 */
export async function revoke(options: Options): Promise<ExitCode> {
  const { list, lift, yes } = options;
  const party = list || lift !== undefined ? undefined : partyIn(options);
  if (party === undefined && ((list && lift !== undefined) || namedIn(options).length > 0))
    throw new UsageError('--list and --lift stand alone');
  const access = await operatorAccess('revoke', options);
  if (list) return printed(await access.ask('/revocations'));
  const question = party === undefined ? `Lift the revocation ${printable(lift ?? '')}?` : endQuestion(party);
  if (!yes && !(await isConfirmed(question)))
    throw new Failure(`not ${party === undefined ? 'lifted' : 'revoked'}: answer y, or write --yes`, access.program);
  if (party === undefined) {
    await access.delete(`/revocations/${encodeURIComponent(lift ?? '')}`);
    return print('lifted: tokens that it refused are accepted again; what ended at the front door stays ended\n');
  }
  return revokeParty(party, access);
}

/** What a revocation names, besides the issuer. */
interface Party {
  readonly kind: 'subject' | 'client' | 'actor' | 'email';
  /** In words. */
  readonly words: string;
  readonly issuer: string | undefined;
  readonly command: object;
}

function namedIn({ subject, client, actor, email, issuer }: Options): readonly string[] {
  const named = Object.entries({ subject, client, actor, email, issuer });
  return named.filter(([, text]) => text !== undefined).map(([name]) => name);
}

const kinds: Readonly<Record<string, Party['kind']>> = {
  'subject issuer': 'subject',
  'client issuer': 'client',
  'subject client issuer': 'client',
  'actor issuer': 'actor',
  email: 'email',
};

function partyIn(options: Options): Party {
  const { subject, client, actor, email, issuer } = options;
  const kind = kinds[namedIn(options).join(' ')];
  if (kind === undefined) {
    const accepted = '--subject SUB, --client ID (with --subject or not) or --actor SUB with --issuer URL';
    throw new UsageError(`pass ${accepted}, or --email ADDRESS, or --list, or --lift ID`);
  }
  const person = subject === undefined ? '' : ` for the subject ${printable(subject)}`;
  const words: Readonly<Record<Party['kind'], string>> = {
    subject: `the subject ${printable(subject ?? '')}`,
    client: `the client ${printable(client ?? '')}${person}`,
    actor: `the actor ${printable(actor ?? '')}`,
    email: `the address ${printable(email ?? '')}`,
  };
  return { kind, words: words[kind], issuer, command: { subject, client, actor, email, issuer } };
}

function endQuestion({ words, issuer }: Party): string {
  return `End all rights of ${words}${issuer === undefined ? '' : ` of ${printable(issuer)}`} now?`;
}

async function revokeParty(party: Party, access: OperatorAccess): Promise<ExitCode> {
  const { until, revocations } = membersOf(await (await access.ask('/revocations', party.command)).json());
  const kept = (Array.isArray(revocations) ? revocations : []).filter(isObject);
  const tokens = `tokens ${whose[party.kind]} ${party.words}`;
  const lines = [
    `kept: ${tokens} that were issued until ${word(until)} are refused, and their streams end`,
    ...kept.map(({ id }) => `to withdraw it: sallyport revoke --lift ${word(id)}`),
  ];
  if (party.kind === 'email')
    lines.push('tokens without a verified claim email are not found by it: end those with --subject and --issuer');
  if (kept.some(({ blocks }) => blocks === true))
    lines.push('at the front door its grants and its registration ended; it gets no token there until it is lifted');
  else if (party.kind === 'client' || party.kind === 'actor')
    lines.push('tokens that are issued later are good: end the agent at its authorization server too');
  if (kept.some(({ isKnownIssuer }) => isKnownIssuer === false))
    lines.push(`no authorization server here is ${printable(party.issuer ?? '')}: only act.iss of a token can name it`);
  return print(`${lines.join('\n')}\n`);
}

const whose: Readonly<Record<Party['kind'], string>> = { subject: 'of', client: 'of', actor: 'with', email: 'with' };

async function printed(response: Response): Promise<ExitCode> {
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) print(harmlessJson(decoder.decode(chunk, { stream: true })));
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
