import { setTimeout } from 'node:timers/promises';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parseToRewrite } from '../../core/lib/json/lossless.ts';
import { printable } from '../../core/lib/wording.ts';
import type { CommandKit, OperatorAccess, Values } from '../command.ts';
import { type ExitCode, jsonText, membersOf, print, UsageError, word } from '../terminal.ts';
import type { approvalOptions } from './commands.ts';

const PATH = '/approvals';
const FOLLOW_MS = 1_000;

/**
 * `sallyport approvals`: shows what waits at a running gateway, or decides on it as its operator.
 *
 * @param decision `approve`, `deny` or `withdraw`, of the request with `id`; undefined: only shows.
 * @throws {UsageError} {@link Failure} if the gateway refuses.
 */
export async function approvals(
  { decision, id = '' }: { readonly decision?: string | undefined; readonly id?: string | undefined },
  options: Values<typeof approvalOptions>,
  kit: CommandKit,
): Promise<ExitCode> {
  if (decision !== undefined && !/^[\w-]{1,64}$/.test(id))
    throw new UsageError(`${decision} needs the id of a request, not ${JSON.stringify(id)}`);
  const access = await kit.operator('approvals', options);
  if (decision === undefined) return list(access, options);
  const approval = parseToRewrite(await (await access.ask(`${PATH}/${id}`, { decision })).text());
  return print(shownAs(approval, options));
}

async function list(access: OperatorAccess, { follow, json }: Values<typeof approvalOptions>): Promise<ExitCode> {
  const shown = new Set<string>();
  for (;;) {
    const found = parseToRewrite(await (await access.ask(PATH)).text());
    const all: readonly unknown[] = isObject(found) && Array.isArray(found['approvals']) ? found['approvals'] : [];
    for (const each of all) {
      const briefly = JSON.stringify(each);
      if (shown.has(briefly)) continue;
      shown.add(briefly);
      // The list is without arguments. A request that ended meanwhile is not shown.
      const answer = await access.answer(`${PATH}/${String(membersOf(each)['id'])}`);
      if (answer.status === 404) continue;
      print(shownAs(parseToRewrite(await (await access.success(answer)).text()), { json }));
    }
    // On standard error: what reads the list gets none of it.
    if (all.length === 0 && !follow) process.stderr.write('no call waits for a decision\n');
    if (!follow) return 0;
    await setTimeout(FOLLOW_MS);
  }
}

function shownAs(approval: unknown, { json }: { readonly json: boolean }): string {
  return json ? jsonText(approval) : `${lineOf(approval)}\n`;
}

/** A request in one line. What a caller chose cannot reach the terminal as a command. */
function lineOf(approval: unknown): string {
  const { id, status, call, caller, expires_at: ends } = membersOf(approval);
  const { route, method, name, path, arguments: args, unshown, hidden } = membersOf(call);
  const { subject, issuer, client } = membersOf(caller);
  const isOver = status === 'expired' || status === 'used';
  const parts = [
    ...[id, status, route, name ?? path ?? method].map(word),
    name === undefined || path === undefined ? '' : `at ${word(path)}`,
    args === undefined ? '' : JSON.stringify(args),
    unshown === undefined ? '' : `and ${JSON.stringify(hidden)} more: ${JSON.stringify(unshown)}`,
    `by ${word(subject ?? issuer)} with ${word(client ?? 'an unknown client')}`,
    isOver ? '' : `until ${String(ends)}`,
  ];
  return printable(parts.filter((part) => part !== '').join('  '));
}
