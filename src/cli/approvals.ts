import { setTimeout } from 'node:timers/promises';
import { isObject } from '../lib/json/own-member.ts';
import { parseToRewrite } from '../lib/json/lossless.ts';
import { printable } from '../lib/wording.ts';
import { askGateway, operatorAccess, type OperatorAccess } from './operator-request.ts';
import type { OptionsOf } from './options.ts';
import { type ExitCode, print, UsageError } from './terminal.ts';

const PATH = '/approvals';
/** How often `--follow` asks. */
const FOLLOW_MS = 1_000;

/**
 * `sallyport approvals`: shows what waits at a running gateway, or decides on it as its operator.
 *
 * @param decision `approve`, `deny` or `withdraw`, of the request with `id`; undefined: only shows.
 * @throws {UsageError} {@link Failure} if the gateway refuses.
 */
export async function approvals(
  { decision, id = '' }: { readonly decision?: string | undefined; readonly id?: string | undefined },
  options: OptionsOf<'approvals'>,
): Promise<ExitCode> {
  if (decision !== undefined && !/^[\w-]{1,64}$/.test(id))
    throw new UsageError(`${decision} needs the id of a request, not ${JSON.stringify(id)}`);
  const access = await operatorAccess('approvals', options);
  if (decision === undefined) return list(access, options);
  const approval = await (await askGateway(access, `${PATH}/${id}`, { decision })).text();
  return print(`${options.json ? approval : lineOf(parseToRewrite(approval))}\n`);
}

async function list(access: OperatorAccess, { follow, json }: OptionsOf<'approvals'>): Promise<ExitCode> {
  const shown = new Set<string>();
  for (;;) {
    const found = parseToRewrite(await (await askGateway(access, PATH)).text());
    const all: readonly unknown[] = isObject(found) && Array.isArray(found['approvals']) ? found['approvals'] : [];
    const lines = all.map((each) => (json ? JSON.stringify(each) : lineOf(each))).filter((line) => !shown.has(line));
    for (const line of lines) {
      shown.add(line);
      print(`${line}\n`);
    }
    if (!follow) return 0;
    await setTimeout(FOLLOW_MS);
  }
}

/** A request in one line. What a caller chose cannot reach the terminal as a command. */
function lineOf(approval: unknown): string {
  const { id, status, call, caller, expires_at: ends } = membersOf(approval);
  const { route, method, name, path, arguments: args, hidden } = membersOf(call);
  const { subject, issuer, client } = membersOf(caller);
  const isOver = status === 'expired' || status === 'used';
  const parts = [
    ...[id, status, route, name ?? path ?? method].map(word),
    args === undefined ? '' : JSON.stringify(args),
    hidden === 0 || hidden === undefined ? '' : `values not shown: ${JSON.stringify(hidden)}`,
    `by ${word(subject ?? issuer)} with ${word(client ?? 'an unknown client')}`,
    isOver ? '' : `until ${String(ends)}`,
  ];
  return printable(parts.filter((part) => part !== '').join('  '));
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** A word that cannot be taken for two. */
function word(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value ?? '');
}
