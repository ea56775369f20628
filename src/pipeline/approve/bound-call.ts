import { hash } from 'node:crypto';
import { canonicalJson } from '../../lib/json/canonical.ts';
import { parseToRewrite } from '../../lib/json/lossless.ts';
import { isObject } from '../../lib/json/own-member.ts';
import { keysOf } from '../../lib/json/pointer.ts';
import type { ApprovalCall, ApprovalRequest } from '../../model/approval-book.ts';
import type { NeededApproval } from '../../model/approval.ts';
import type { Call } from '../../model/call.ts';
import type { Action } from '../../model/grant.ts';
import type { McpAttempt } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';

type Params = Readonly<Record<string, unknown>>;

/** Members of `params` that differ between the rounds of one call, or describe only its transport. */
const unbound: ReadonlySet<string> = new Set(['_meta', 'requestState', 'inputResponses']);

/** The call that an approval is for, as a digest, and what of it approvers see. */
export interface BoundCall {
  /** The SHA-256 of everything that an approval is bound to, base64url. */
  readonly digest: string;
  readonly shown: ApprovalCall;
}

/** The call that an approval is for, of one caller. Numbers keep their digits. */
export function boundCall(
  route: Pick<Route, 'name'>,
  {
    call,
    action,
    needed,
    caller,
  }: {
    readonly call: Pick<Call, 'method' | 'path' | 'query'>;
    readonly action: Pick<Action, 'attempt' | 'body'>;
    readonly needed: Pick<NeededApproval, 'rules' | 'shows'>;
    readonly caller: ApprovalRequest['caller'];
  },
): BoundCall {
  const { attempt, body } = action;
  const party = { route: route.name, rules: needed.rules, caller };
  if (attempt.kind === 'http') {
    const path = call.path + call.query;
    const shown = { route: route.name, method: call.method, path, hidden: 0 };
    return { digest: digestOf({ ...party, method: call.method, path: call.path, query: call.query }), shown };
  }
  const method = attempt.method.name ?? call.method;
  const params = paramsIn(body);
  const bound = Object.fromEntries(Object.entries(params).filter(([key]) => !unbound.has(key)));
  if (attempt.method.hasArguments) bound['arguments'] ??= {};
  return {
    digest: digestOf({ ...party, method, params: bound }),
    shown: shownOf(attempt, { route: route.name, method, params: bound, shows: needed.shows }),
  };
}

function paramsIn(body: Buffer | undefined): Params {
  const message = body === undefined ? undefined : parseToRewrite(body.toString());
  const params = isObject(message) ? message['params'] : undefined;
  return isObject(params) ? params : {};
}

function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

function shownOf(
  { method: row, targets }: McpAttempt,
  {
    route,
    method,
    params,
    shows,
  }: {
    readonly route: string;
    readonly method: string;
    readonly params: Params;
    readonly shows: readonly string[] | undefined;
  },
): ApprovalCall {
  const name = targets.length > 0 ? targets.map((target) => target.name).join(', ') : undefined;
  const named = typeof row.target === 'object' ? row.target.parameter : undefined;
  const { arguments: args, ...others } = params;
  const rest = Object.fromEntries(Object.entries(row.hasArguments ? others : params).filter(([key]) => key !== named));
  // What else is sent reaches the server too: it counts as hidden, or is all that there is.
  const whole = row.hasArguments ? args : rest;
  const shown = shows === undefined ? whole : selected(whole, shows);
  const hidden = leavesIn(whole) - leavesIn(shown) + (row.hasArguments ? leavesIn(rest) : 0);
  return { route, method, name, arguments: JSON.stringify(shown), hidden };
}

/** The values at some JSON Pointers, in objects like those that they stand in. */
function selected(value: unknown, pointers: readonly string[]): unknown {
  const found: Record<string, unknown> = {};
  for (const pointer of pointers) {
    const keys = keysOf(pointer) ?? [];
    let from: unknown = value;
    for (const key of keys) from = typeof from === 'object' && from !== null ? Reflect.get(from, key) : undefined;
    if (from !== undefined) put(found, keys, from);
  }
  return found;
}

function put(into: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    into[key] = value;
    return;
  }
  const inner = into[key];
  const next: Record<string, unknown> = isObject(inner) ? { ...inner } : {};
  into[key] = next;
  put(next, rest, value);
}

/** The number of values that a value consists of. A number that JavaScript would round is an object that is frozen. */
function leavesIn(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + leavesIn(inner), 0);
}
