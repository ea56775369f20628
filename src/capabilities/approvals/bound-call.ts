import { hash } from 'node:crypto';
import { canonicalJson } from '../../core/lib/json/canonical.ts';
import { parseToRewrite } from '../../core/lib/json/lossless.ts';
import { hopByHop, nominatedBy, withoutCookies } from '../../core/lib/http/header-fields.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { keysOf } from '../../core/lib/json/pointer.ts';
import type { ApprovalCall, ApprovalRequest } from './book.ts';
import type { NeededApproval } from '../../policy-parts/approvals/needed-approval.ts';
import type { Call } from '../../core/model/call.ts';
import { ownCookies } from '../../core/model/fields.ts';
import { isNeverFromClients, plainFieldName } from '../../core/model/client-fields.ts';
import type { Action } from '../../core/model/grant.ts';
import type { McpAttempt } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';

type Params = Readonly<Record<string, unknown>>;

/** Members of `params` by which a round continues a call. In a call that continues none, they are as any other. */
const ofRounds: ReadonlySet<string> = new Set(['requestState', 'inputResponses']);

const isText = (value: unknown): boolean => typeof value === 'string';

/** Members of `_meta` that say nothing of what is called: tracing, progress, and what the client can do. */
const ofTransport = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    progressToken: (value) => isText(value) || typeof value === 'number',
    traceparent: isText,
    tracestate: isText,
    baggage: isText,
    'io.modelcontextprotocol/protocolVersion': isText,
    'io.modelcontextprotocol/logLevel': isText,
    'io.modelcontextprotocol/clientInfo': isObject,
    'io.modelcontextprotocol/clientCapabilities': isObject,
  }),
);

/** Header fields that say nothing of what is called, by their plain names: content negotiation, tracing, browsers. */
const harmlessFields: ReadonlySet<string> = new Set(
  [
    'accept accept-charset accept-encoding accept-language cache-control pragma user-agent date',
    'content-encoding content-length content-type',
    'origin referer dnt priority upgrade-insecure-requests',
    'access-control-request-headers access-control-request-method',
    'sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc',
    'traceparent tracestate baggage b3 x-b3-traceid x-b3-spanid x-b3-parentspanid x-b3-sampled x-b3-flags',
    'sentry-trace x-amzn-trace-id x-cloud-trace-context x-datadog-trace-id x-datadog-parent-id',
    'x-datadog-sampling-priority',
  ].flatMap((names) => names.split(' ')),
);
/** On an MCP route, the revision of the message, or what the gateway gives the upstream as its own. */
const harmlessOnMcp: ReadonlySet<string> = new Set(['mcp-protocol-version', 'mcp-session-id', 'last-event-id']);
/** The gateway compares these with a message of a modern revision, and with no other. */
const comparedWithMessage: ReadonlySet<string> = new Set(['mcp-method', 'mcp-name']);
/** Fields whose values are credentials of the caller: approvers see a digest. */
const credentialFields: ReadonlySet<string> = new Set(
  'cookie api-key apikey x-api-key x-auth-token x-csrf-token x-xsrf-token'.split(' '),
);

/** The call that an approval is for, as a digest, and what of it approvers see. */
export interface BoundCall {
  /** The SHA-256 of everything that an approval is bound to, base64url. */
  readonly digest: string;
  readonly shown: ApprovalCall;
}

/** The call that an approval is for, of one caller. Numbers keep their digits. */
export function boundCall(
  route: Pick<Route, 'name' | 'path'>,
  {
    call,
    action,
    needed,
    caller,
  }: {
    readonly call: Pick<Call, 'method' | 'path' | 'query' | 'fields'>;
    readonly action: Pick<Action, 'attempt' | 'era' | 'body' | 'continues'>;
    readonly needed: Pick<NeededApproval, 'rules' | 'shows'> & Partial<Pick<NeededApproval, 'asker'>>;
    readonly caller: ApprovalRequest['caller'];
  },
): BoundCall {
  const { attempt, era } = action;
  const fields = boundFields(call.fields, era);
  const headers = fields.length === 0 ? {} : { headers: Object.fromEntries(fields) };
  const party = { route: route.name, rules: needed.rules, caller, asker: needed.asker, ...headers };
  const unshownHeaders = fields.length === 0 ? {} : { headers: Object.fromEntries(fields.map(readable)) };
  const path = call.path + call.query;
  if (attempt.kind === 'http') {
    const shown = { route: route.name, method: call.method, path, ...unshownOf(unshownHeaders) };
    return { digest: digestOf({ ...party, method: call.method, path: call.path, query: call.query }), shown };
  }
  const method = attempt.method.name ?? call.method;
  const { params, others } = boundMessage(action);
  if (attempt.method.hasArguments) params['arguments'] ??= {};
  // The upstream gets what follows the endpoint, if the route passes it.
  const place = path === route.path ? {} : { path };
  const about = { route: route.name, method, params, shows: needed.shows, unshown: { ...others, ...unshownHeaders } };
  return {
    digest: digestOf({ ...party, method, params, ...others, ...place }),
    shown: { ...shownOf(attempt, about), ...place },
  };
}

/** The members that every message has: they do not say what is called, or are bound in another form. */
const ofEveryMessage: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

/** The parameters that an approval is bound to, and further members of the message. */
function boundMessage({ body, continues }: Pick<Action, 'body' | 'continues'>): {
  readonly params: Record<string, unknown>;
  readonly others: { readonly message?: Params };
} {
  const parsed = body === undefined ? undefined : parseToRewrite(body.toString());
  const message = isObject(parsed) ? parsed : {};
  const further = Object.entries(message).filter(([key]) => !ofEveryMessage.has(key));
  const { _meta: meta, ...rest } = isObject(message['params']) ? message['params'] : {};
  const params = Object.entries(rest).filter(([key]) => continues === undefined || !ofRounds.has(key));
  const boundMeta = isObject(meta)
    ? Object.entries(meta).filter(([key, value]) => ofTransport.get(key)?.(value) !== true)
    : [];
  if (boundMeta.length > 0) params.push(['_meta', Object.fromEntries(boundMeta)]);
  return {
    params: Object.fromEntries(params),
    others: further.length === 0 ? {} : { message: Object.fromEntries(further) },
  };
}

type BoundField = readonly [name: string, values: readonly string[]];

/** The header fields that reach an upstream, which may act on them, but for those that are known as harmless. */
function boundFields({ names, raw, connection }: Call['fields'], era: Action['era']): readonly BoundField[] {
  const nominated = connection === undefined ? undefined : nominatedBy(connection);
  const found = new Map<string, string[]>();
  for (const [index, name] of names.entries()) {
    const plain = plainFieldName(name);
    const isHarmless =
      harmlessFields.has(name) ||
      (era !== undefined && harmlessOnMcp.has(name)) ||
      (era === 'modern' && comparedWithMessage.has(name));
    if (
      (isHarmless && name === plain) ||
      hopByHop.has(plain) ||
      isNeverFromClients(plain) ||
      nominated?.has(name) === true
    )
      continue;
    const field = raw[2 * index + 1] as string;
    const value = name === 'cookie' ? withoutCookies(ownCookies.all, field) : field;
    if (name !== 'cookie' || value !== '') found.set(name, [...(found.get(name) ?? []), value]);
  }
  return [...found];
}

/** A field as approvers see it. */
function readable([name, values]: BoundField): readonly [name: string, value: string] {
  const value = values.join(', ');
  return [name, credentialFields.has(name) ? `SHA-256 ${hash('sha256', value, 'base64url')}` : value];
}

function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url');
}

/** What approvers do not see at once, and the number of its values. */
function unshownOf(unshown: Readonly<Record<string, unknown>>): Pick<ApprovalCall, 'unshown' | 'hidden'> {
  const present = Object.entries(unshown).filter(([, value]) => value !== undefined);
  const hidden = present.reduce((sum, [, value]) => sum + leavesIn(value), 0);
  return present.length === 0 ? { hidden } : { hidden, unshown: JSON.stringify(Object.fromEntries(present)) };
}

function shownOf(
  { method: row, targets }: McpAttempt,
  {
    route,
    method,
    params,
    shows,
    unshown: besides,
  }: {
    readonly route: string;
    readonly method: string;
    readonly params: Params;
    readonly shows: readonly string[] | undefined;
    readonly unshown: Params;
  },
): ApprovalCall {
  const name = targets.length > 0 ? targets.map((target) => target.name).join(', ') : undefined;
  const named = typeof row.target === 'object' ? row.target.parameter : undefined;
  const { arguments: args, ...others } = params;
  const rest = Object.fromEntries(Object.entries(row.hasArguments ? others : params).filter(([key]) => key !== named));
  // What else is sent reaches the server too: it counts as hidden, or is all that there is.
  const whole = row.hasArguments ? args : rest;
  const shown = shows === undefined ? whole : selected(whole, shows);
  const isShownWhole = shows === undefined || (isContainer(whole) && Object.keys(whole).length === 0);
  const unshown = {
    arguments: isShownWhole ? undefined : leftOut(whole, shows.map(pathOf)),
    params: row.hasArguments && Object.keys(rest).length > 0 ? rest : undefined,
    ...besides,
  };
  return { route, method, name, arguments: JSON.stringify(shown), ...unshownOf(unshown) };
}

const pathOf = (pointer: string): readonly string[] => keysOf(pointer) ?? [];

/** The rest of a value without the places at some paths; undefined: nothing is left. */
function leftOut(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return undefined;
  if (paths.length === 0 || !isContainer(value)) return value;
  const rest = Object.entries(value).flatMap(([key, inner]) => {
    const below = paths.filter(([first]) => first === key).map((path) => path.slice(1));
    const left = leftOut(inner, below);
    return left === undefined ? [] : [[key, left] as const];
  });
  return rest.length === 0 && Object.keys(value).length > 0 ? undefined : Object.fromEntries(rest);
}

/** The values at some JSON Pointers, in objects like those that they stand in. */
function selected(value: unknown, pointers: readonly string[]): unknown {
  const found: Record<string, unknown> = {};
  for (const pointer of pointers) {
    const keys = pathOf(pointer);
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

/** The number of values that a value consists of. An empty list is a value too. */
function leavesIn(value: unknown): number {
  if (value === undefined) return 0;
  if (!isContainer(value)) return 1;
  const inner = Object.values(value);
  return inner.length === 0 ? 1 : inner.reduce<number>((sum, each) => sum + leavesIn(each), 0);
}

/** A number that JavaScript would round is an object too, which is frozen. */
function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value);
}
