import { setTimeout } from 'node:timers/promises';
import { isObject } from '../lib/json/own-member.ts';
import { parseToRewrite } from '../lib/json/lossless.ts';
import { printable } from '../lib/wording.ts';
import { type ExitCode, print, UsageError } from './exit.ts';
import { askGateway, operatorAccess, type OperatorAccess, OperatorFault } from './operator-request.ts';

/** The options of `approvals`. */
export interface ApprovalsOptions {
  readonly config: string;
  readonly follow: boolean;
  readonly json: boolean;
  readonly admin: string | undefined;
}

const PATH = '/approvals';
/** How often `--follow` asks. */
const FOLLOW_MS = 1_000;

/**
 * `sallyport approvals`: shows what waits at a running gateway, or decides on it as its operator.
 *
 * @param decision `approve`, `deny` or `withdraw`, of the request with `id`; undefined: only shows.
 * @throws {UsageError}
 */
export async function approvals(
  { decision, id = '' }: { readonly decision?: string | undefined; readonly id?: string | undefined },
  options: ApprovalsOptions,
): Promise<ExitCode> {
  if (decision !== undefined && !/^[\w-]{1,64}$/.test(id))
    throw new UsageError(`${decision} needs the id of a request, not ${JSON.stringify(id)}`);
  try {
    const access = await operatorAccess(options.config, options.admin);
    if (decision === undefined) return await list(access, options);
    const response = await askGateway(access, `${PATH}/${id}`, { decision });
    return print(options.json ? `${await response.text()}\n` : `${lineOf(parseToRewrite(await response.text()))}\n`);
  } catch (error) {
    if (!(error instanceof OperatorFault)) throw error;
    if (error.message !== '') process.stderr.write(`sallyport approvals: ${error.message}\n`);
    return 1;
  }
}

async function list(access: OperatorAccess, { follow, json }: ApprovalsOptions): Promise<ExitCode> {
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
  const {
    id,
    status,
    call,
    caller,
    expires_at: ends,
  } = (isObject(approval) ? approval : {}) as {
    readonly [Name in 'id' | 'status' | 'expires_at']?: unknown;
  } & { readonly call?: Record<string, unknown>; readonly caller?: Record<string, unknown> };
  const { route, method, name, path, arguments: args, hidden } = call ?? {};
  const isOver = status === 'expired' || status === 'used';
  const parts = [
    ...[id, status, route, name ?? path ?? method].map(word),
    args === undefined ? '' : JSON.stringify(args),
    hidden === 0 || hidden === undefined ? '' : `values not shown: ${JSON.stringify(hidden)}`,
    `by ${word(caller?.['subject'] ?? caller?.['issuer'])} with ${word(caller?.['client'] ?? 'an unknown client')}`,
    isOver ? '' : `until ${String(ends)}`,
  ];
  return printable(parts.filter((part) => part !== '').join('  '));
}

/** A word that cannot be taken for two. */
function word(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value ?? '');
}
