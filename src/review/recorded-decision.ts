import { isObject } from '../lib/json/own-member.ts';
import { pointerKey } from '../lib/json/pointer.ts';
import type { DecisionInput } from '../model/decision-input.ts';
import { mcpMethod, targetKinds } from '../model/mcp.ts';
import { unknownArguments, type Attempt, type McpTarget } from '../model/policy.ts';
import { isPolicyReason } from '../model/reasons.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { principalWith } from './described-caller.ts';

/** The members of a decision log line that a decision needs. */
export interface RecordedDecision {
  readonly decision: string;
  readonly requestId: string;
  readonly time: string;
  readonly route: string;
  readonly allow: boolean;
  readonly shadow: boolean;
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  readonly subject: string | undefined;
  readonly clientId: string | undefined;
  readonly issuer: string | undefined;
  readonly method: string | undefined;
  readonly tool: string | undefined;
  readonly scope: string | undefined;
  readonly neededScope: string | undefined;
  readonly policy: string | undefined;
  readonly rule: string | undefined;
  readonly input: DecisionInput;
  /** All members of the line. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/**
 * The decision that a line of the decision log records; undefined for any other line, and for one with members of other
 * types than the gateway writes.
 */
export function recordedDecision(entry: Readonly<Record<string, unknown>>): RecordedDecision | undefined {
  if (entry['msg'] !== 'decision' || typeof entry['allow'] !== 'boolean' || !isWellFormed(entry)) return undefined;
  const text = (name: string): string | undefined => {
    const value = entry[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    decision: text('decision') ?? '',
    requestId: text('request_id') ?? '',
    time: text('time') ?? '',
    route: text('route') ?? '',
    allow: entry['allow'],
    shadow: entry['shadow'] === true,
    reason: text('reason'),
    detail: text('detail'),
    subject: text('subject'),
    clientId: text('client_id'),
    issuer: text('issuer'),
    method: text('method'),
    tool: text('tool'),
    scope: text('scope'),
    neededScope: text('needed_scope'),
    policy: text('policy'),
    rule: text('rule'),
    input: entry['input'] ?? {},
    entry,
  };
}

/** The members whose values are texts. */
const texts = [
  'decision',
  'request_id',
  'route',
  'reason',
  'detail',
  'subject',
  'client_id',
  'issuer',
  'method',
].concat(['tool', 'scope', 'needed_scope', 'policy', 'rule']);

/** More than the longest logged claim can nest. What reads a record may recurse. */
const MAX_DEPTH = 300;

/** Whether the members that are read have the types that the gateway writes: another program may write a log too. */
function isWellFormed(entry: Readonly<Record<string, unknown>>): boolean {
  const { time = '1970-01-01', input = {} } = entry;
  if (texts.some((name) => entry[name] !== undefined && typeof entry[name] !== 'string')) return false;
  if (typeof time !== 'string' || Number.isNaN(Date.parse(time))) return false;
  if (!isObject(input) || isDeeper(entry, MAX_DEPTH)) return false;
  const { claims = {}, omitted = [], lifetime = 0, targets = [] } = input;
  return (
    isObject(claims) &&
    Object.keys(claims).every((name) => name.split('/').length <= MAX_DEPTH) &&
    Array.isArray(omitted) &&
    omitted.every((name) => typeof name === 'string') &&
    typeof lifetime === 'number' &&
    Array.isArray(targets) &&
    targets.every(isTarget)
  );
}

function isTarget(target: unknown): boolean {
  if (!isObject(target)) return false;
  const { kind, name } = target;
  return targetKinds.some((each) => each === kind) && typeof name === 'string';
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** What was called: the tool, or another target, or the method. */
export function calledIn({ tool, input, method }: RecordedDecision): string {
  return tool ?? input.targets?.[0]?.name ?? method ?? '';
}

/** Whether a policy decided, rather than a stage before it. */
export function isPolicyDecision({ allow, reason, issuer }: RecordedDecision): boolean {
  if (issuer === undefined) return false;
  return allow || (reason !== undefined && isPolicyReason(reason));
}

/** The caller of a logged decision, with the claims that the policy read. */
export function recordedPrincipal(
  { subject, clientId, issuer, scope, input }: RecordedDecision,
  hierarchy: ReadonlyMap<string, readonly string[]>,
): Principal {
  return principalWith(
    {
      issuer: issuer ?? '',
      subject,
      clientId,
      scope: (scope ?? '').split(' ').filter((each) => each !== ''),
      claims: recordedClaims({ input }),
      lifetimeSeconds: input.lifetime,
    },
    hierarchy,
  );
}

/** The claims of a logged decision that the policy read. */
export function recordedClaims({ input }: Pick<RecordedDecision, 'input'>): Record<string, unknown> {
  return nested(input.claims ?? {});
}

/** The attempt of a logged decision; arguments are not logged. */
export function recordedAttempt({ method, tool, input }: RecordedDecision, route: Pick<Route, 'protocol'>): Attempt {
  if (route.protocol === 'http') return { kind: 'http' };
  const targets: readonly McpTarget[] = input.targets ?? (tool === undefined ? [] : [{ kind: 'tool', name: tool }]);
  // A GET and a DELETE carry no message.
  const message = method === 'GET' || method === 'DELETE' ? undefined : method;
  return { kind: 'mcp', method: mcpMethod(message), targets, arguments: unknownArguments };
}

/** Logged claims, which are named by name or JSON Pointer (RFC 6901), as the nested object of a token. */
function nested(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const root = new Map<string, unknown>();
  for (const [name, value] of Object.entries(claims)) {
    const steps = name.startsWith('/') ? name.slice(1).split('/').map(pointerKey) : [name];
    place(root, steps, value);
  }
  return plain(root);
}

function place(parent: Map<string, unknown>, [step = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    if (!(parent.get(step) instanceof Map)) parent.set(step, value);
    return;
  }
  const known = parent.get(step);
  const inner = known instanceof Map ? (known as Map<string, unknown>) : new Map<string, unknown>();
  parent.set(step, inner);
  place(inner, rest, value);
}

function plain(map: ReadonlyMap<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    [...map].map(([key, value]) => [key, value instanceof Map ? plain(value as Map<string, unknown>) : value]),
  );
}
