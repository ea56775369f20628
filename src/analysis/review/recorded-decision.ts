import { keysOf, pointerKey } from '../../core/lib/json/pointer.ts';
import { type DecisionRecord, type LoggedName, MAX_PATH, members } from '../../core/model/decision.ts';
import { MalformedMember, MAX_DEPTH, readers } from './logged-members.ts';
import { mcpMethod } from '../../core/model/mcp.ts';
import { unknownArguments, type Attempt, type McpTarget, type Policy } from '../../core/model/policy.ts';
import { isPolicyReason } from './policy-reasons.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import { withGatewayClaims } from '../../core/model/gateway-claims.ts';
import { principalWith } from './described-caller.ts';

const loggedNames = Object.keys(readers) as readonly LoggedName[];
/** A log does not have these, and nothing that reads one asks for the kind. */
const unlogged = { kind: 'refused', form: undefined, expiresAt: undefined, answer: undefined } as const;

/**
 * The decision that a line of the decision log records; undefined for any other line, and for one with members of other
 * types than the gateway writes: another program may write a log too.
 */
export function recordedDecision(entry: Readonly<Record<string, unknown>>): DecisionRecord | undefined {
  if (entry['msg'] !== 'decision' || isDeeper(entry, MAX_DEPTH)) return undefined;
  try {
    const values = loggedNames.map((name) => [name, readers[name](entry[members[name].wire.name])] as const);
    return { ...(Object.fromEntries(values) as unknown as Pick<DecisionRecord, LoggedName>), ...unlogged };
  } catch (error) {
    if (error instanceof MalformedMember) return undefined;
    throw error;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** Whether a policy decided, rather than another stage. */
export function isPolicyDecision({ allow, reason, issuer, rule }: DecisionRecord): boolean {
  if (issuer === undefined) return false;
  // A decision point asks for another sign-in too: it has no rule.
  if (!allow && reason === 'authentication.insufficient' && rule === undefined) return false;
  return allow || (reason !== undefined && isPolicyReason(reason));
}

/** The caller of a logged decision, with the claims that the policy read, and those that the gateway added. */
export function recordedPrincipal(
  { subject, clientId, issuer, scope, input, actors, at }: DecisionRecord,
  hierarchy: ReadonlyMap<string, readonly string[]>,
): Principal {
  const principal = principalWith(
    {
      issuer: issuer ?? '',
      subject,
      clientId,
      scope: (scope ?? '').split(' ').filter((each) => each !== ''),
      claims: recordedClaims({ input, actors }),
      lifetimeSeconds: input.lifetime,
    },
    hierarchy,
  );
  return withGatewayClaims(principal, () => at);
}

/** The claims of a logged decision that the policy read, and its actors. */
export function recordedClaims({
  input,
  actors = [],
}: Pick<DecisionRecord, 'input' | 'actors'>): Record<string, unknown> {
  const subjects = actors.map((subject, index) => [`${'/act'.repeat(index + 1)}/sub`, subject] as const);
  return nested({ ...input.claims, ...Object.fromEntries(subjects) });
}

/** The attempt of a logged decision; arguments are not logged. */
export function recordedAttempt(
  { method, tool, inner, input, path }: DecisionRecord,
  route: Pick<Route, 'protocol'>,
): Attempt {
  if (route.protocol === 'http') {
    // A path may be left out of the log, or cut.
    return path === undefined || path.length >= MAX_PATH
      ? { kind: 'http' }
      : { kind: 'http', request: `${method} ${path}` };
  }
  const targets: readonly McpTarget[] = input.targets ?? (tool === undefined ? [] : [{ kind: 'tool', name: tool }]);
  // A GET and a DELETE carry no message.
  const message = method === 'GET' || method === 'DELETE' ? undefined : method;
  return { kind: 'mcp', method: mcpMethod(message), targets, arguments: unknownArguments, inner };
}

/** The longest text that `log.arguments` shows; one of this length may have been cut. */
const MAX_TEXT = 256;

/**
 * A recorded attempt with the arguments that its line shows, if policies read no others: an argument that is not shown
 * may be absent, or an object.
 */
export function withShownArguments(
  attempt: Attempt,
  { arguments: shown = {} }: DecisionRecord,
  principal: Principal,
  policies: readonly (Policy | undefined)[],
): Attempt {
  if (attempt.kind !== 'mcp') return attempt;
  const known = new Map(
    Object.entries(shown)
      .filter(([, value]) => isWhole(value))
      .map(([pointer, value]) => [JSON.stringify(keysOf(pointer)), value]),
  );
  const read = policies.flatMap((policy) => policy?.decide(principal, attempt).plan.argumentsRead(attempt) ?? []);
  if (read.length === 0 || !read.every((keys) => known.has(JSON.stringify(keys)))) return attempt;
  return { ...attempt, arguments: nested(shown) };
}

/** Whether a line has a value as the call had it. JSON.parse rounds larger numbers. */
function isWhole(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value !== 'string' || value.length < MAX_TEXT;
}

/** Whether a policy that lists requests cannot decide a recorded attempt again: its path is not known. */
export function lacksPath(policy: Policy | undefined, attempt: Attempt): boolean {
  return policy?.listsRequests === true && attempt.kind === 'http' && attempt.request === undefined;
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
