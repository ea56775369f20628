import { setTimeout } from 'node:timers/promises';
import { isObject } from '../core/lib/json/own-member.ts';
import { parseToRewrite } from '../core/lib/json/lossless.ts';
import { printable } from '../core/lib/wording.ts';
import type { OptionsOf } from './options.ts';
import { harmlessJson } from '../core/telemetry/json-lines.ts';
import { type ExitCode, Failure, jsonText, print, UsageError } from '../capabilities/terminal.ts';
import { createInterface } from 'node:readline/promises';
import { reachableAt } from '../serve/config/front-door.ts';
import { loadAdmin } from '../serve/config/load.ts';

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
  options: OptionsOf<'approvals'>,
): Promise<ExitCode> {
  if (decision !== undefined && !/^[\w-]{1,64}$/.test(id))
    throw new UsageError(`${decision} needs the id of a request, not ${JSON.stringify(id)}`);
  const access = await operatorAccess('approvals', options);
  if (decision === undefined) return list(access, options);
  const approval = parseToRewrite(await (await askGateway(access, `${PATH}/${id}`, { decision })).text());
  return print(shownAs(approval, options));
}

async function list(access: OperatorAccess, { follow, json }: OptionsOf<'approvals'>): Promise<ExitCode> {
  const shown = new Set<string>();
  for (;;) {
    const found = parseToRewrite(await (await askGateway(access, PATH)).text());
    const all: readonly unknown[] = isObject(found) && Array.isArray(found['approvals']) ? found['approvals'] : [];
    for (const each of all) {
      const briefly = JSON.stringify(each);
      if (shown.has(briefly)) continue;
      shown.add(briefly);
      // The list is without arguments. A request that ended meanwhile is not shown.
      const answer = await gatewayAnswer(access, `${PATH}/${String(membersOf(each)['id'])}`);
      if (answer.status === 404) continue;
      print(shownAs(parseToRewrite(await (await successOf(answer, access)).text()), { json }));
    }
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
    args === undefined ? '' : JSON.stringify(args),
    unshown === undefined ? '' : `and ${JSON.stringify(hidden)} more: ${JSON.stringify(unshown)}`,
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

/** Holds the token of the admin listener, where the configuration of the gateway is elsewhere. */
const TOKEN_VARIABLE = 'SALLYPORT_ADMIN_TOKEN';

interface OperatorAccess {
  readonly program: string;
  readonly url: string;
  readonly token: string;
}

async function operatorAccess(
  command: string,
  { config: file, admin }: { readonly config: string; readonly admin: string | undefined },
): Promise<OperatorAccess> {
  const program = `sallyport ${command}`;
  const ownToken = process.env[TOKEN_VARIABLE];
  // In an emergency, no other part of the configuration must be in the way.
  if (admin !== undefined && ownToken !== undefined) return { program, url: admin, token: ownToken };
  const settings = await loadAdmin(file);
  const token = ownToken ?? settings?.token;
  if (token === undefined)
    throw new Failure(`there is no admin token: set admin.token in ${file}, or ${TOKEN_VARIABLE}`, program);
  const url = admin ?? (settings && reachableAt(settings.listen));
  if (url === undefined) throw new Failure('admin is off: the gateway has no listener for this command', program);
  return { program, url, token };
}

async function askGateway(access: OperatorAccess, path: string, body?: object): Promise<Response> {
  return successOf(await gatewayAnswer(access, path, body), access);
}

async function gatewayAnswer({ program, url, token }: OperatorAccess, path: string, body?: object): Promise<Response> {
  const address = url + path;
  try {
    return await fetch(address, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    const { cause } = error as Error;
    const why = cause instanceof Error ? cause.message : String(error);
    throw new Failure(`${address} does not answer: ${why}`, program);
  }
}

async function successOf(response: Response, { program }: OperatorAccess): Promise<Response> {
  if (response.ok) return response;
  const lines = (await response.text()).trim().split(/\r?\n/);
  throw new Failure(`${response.url} answers ${response.status}: ${lines.map(printable).join('\n')}`, program);
}
