import { remembered } from '../lib/remembered.ts';
import type { DecisionInput } from '../model/decision-input.ts';
import { type Reason, refusalOf } from '../model/reasons.ts';
import type { Outcome } from '../model/outcome.ts';
import { calledTool, type McpTarget, type Policy } from '../model/policy.ts';
import type { Principal, TokenForm } from '../model/principal.ts';

/**
 * How a call ended for its caller. `asked`: the refusal asks the client for a token, a scope or a proof that it can
 * get. `shadow`: it passed only because the policy is in shadow mode.
 */
export type OutcomeKind = 'allowed' | 'asked' | 'refused' | 'shadow';

/** What is known of a caller when its call is decided, without its token. */
export interface CallerSummary {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly clientId: string | undefined;
  readonly scope: string | undefined;
  readonly form: TokenForm;
  /** `exp`. */
  readonly expiresAt: number | undefined;
  /** What the policy reads of the caller. */
  readonly input: DecisionInput | undefined;
  /** The length of its texts, in UTF-16 code units. */
  readonly length: number;
}

/** A decision as the log and the console have it: without arguments and tokens. */
export interface DecisionSummary {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly id: string;
  readonly requestId: string;
  readonly kind: OutcomeKind;
  readonly route: string | undefined;
  readonly policy: string | undefined;
  readonly caller: CallerSummary | undefined;
  readonly reason: Reason | undefined;
  readonly detail: string | undefined;
  /** Separated by spaces. */
  readonly neededScope: string | undefined;
  readonly method: string;
  readonly tool: string | undefined;
  /** Undefined if `tool` says all of them. */
  readonly targets: readonly McpTarget[] | undefined;
  readonly rule: string | undefined;
  readonly durationMs: number;
  readonly traceId: string | undefined;
}

/** The summary of a decision that was made at `at`, in milliseconds since the epoch. */
export function summaryOf(outcome: Outcome, at: number): DecisionSummary {
  const { call, route, principal, attempt, denial, shadow } = outcome;
  const refused = denial ?? shadow;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  return {
    at,
    id: call.decision,
    requestId: call.id,
    kind: outcomeKind(outcome),
    route: route?.name,
    policy: route?.policy?.name,
    caller: principal && callerSummary(principal, route?.policy),
    reason: refused?.reason,
    detail: refused && copied(refused.detail),
    neededScope: refused === undefined || refused.scope.length === 0 ? undefined : refused.scope.join(' '),
    method: shared(cut(mcp?.method.name ?? call.method)),
    tool: sharedIfAny(cutIfAny(calledTool(mcp))),
    targets: mcp && principal && route?.policy && loggedTargets(mcp.targets),
    rule: outcome.rule,
    durationMs: durationMs(outcome),
    traceId: call.trace?.traceId,
  };
}

/** How a call ended for its caller. */
function outcomeKind({ allow, denial, shadow }: Outcome): OutcomeKind {
  if (allow) return shadow === undefined ? 'allowed' : 'shadow';
  return denial !== undefined && refusalOf(denial.reason).isAsking ? 'asked' : 'refused';
}

/** The time from the arrival of a call to its decision, with three decimals. */
export function durationMs({ decidedAt, call }: Outcome): number {
  return Math.round((decidedAt - call.startedAt) * 1000) / 1000;
}

/** Shortens a name that the caller chose. */
export function cut(text: string): string {
  return text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

/** {@link cut}, of a name that may be absent. */
export function cutIfAny(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cut(text);
}

/** A copy of a name, the same for each call that has it: most calls name one of a few tools. */
export const shared = remembered(copied);

/** {@link shared}, of a name that may be absent. */
export function sharedIfAny(name: string | undefined): string | undefined {
  return name === undefined ? undefined : shared(name);
}

/** A copy of a text. A part of a message keeps the whole message in memory, with its arguments. */
function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** A principal stays the same object while its token is cached. */
const summaries = new WeakMap<Principal, { readonly policy: Policy | undefined; readonly summary: CallerSummary }>();

/** The summary of a caller for one policy. It is made once for each cached token. */
export function callerSummary(principal: Principal, policy: Policy | undefined): CallerSummary {
  const kept = summaries.get(principal);
  if (kept !== undefined && kept.policy === policy) return kept.summary;
  const { issuer, subject, clientId, grantedScopes, form, expiresAt } = principal;
  const scope = grantedScopes.length === 0 ? undefined : grantedScopes.join(' ');
  const input = policy === undefined ? undefined : callerInput(policy, principal);
  const length = JSON.stringify([subject, clientId, scope, input]).length;
  const summary: CallerSummary = { issuer, subject, clientId, scope, form, expiresAt, input, length };
  summaries.set(principal, { policy, summary });
  return summary;
}

/** The member `input` of a decision: what a policy read. Undefined if no policy decided, or if it read nothing more. */
export function inputOf({ caller, targets }: DecisionSummary): DecisionInput | undefined {
  return targets === undefined ? caller?.input : { ...caller?.input, targets };
}

/** The longest claim and the longest name that are logged, in UTF-16 code units of JSON. */
const MAX_LENGTH = 512;
/** The limit on logged targets of one message. */
const MAX_TARGETS = 32;

/** The part of `input` that depends on the caller and the policy alone. */
function callerInput(policy: Policy, principal: Principal): DecisionInput | undefined {
  const claims = Object.entries(policy.claimsRead(principal.claims));
  const short = claims.filter(([, value]) => isShort(value));
  const omitted = claims.filter((claim) => !short.includes(claim)).map(([name]) => name);
  const { expiresAt, issuedAt } = principal;
  const lifetime = expiresAt === undefined || issuedAt === undefined ? undefined : expiresAt - issuedAt;
  if (claims.length === 0 && lifetime === undefined) return undefined;
  return {
    ...(short.length > 0 && { claims: Object.fromEntries(short) }),
    ...(omitted.length > 0 && { omitted }),
    ...(lifetime !== undefined && { lifetime }),
  };
}

function isShort(value: unknown): boolean {
  try {
    return (JSON.stringify(value) ?? '').length <= MAX_LENGTH;
  } catch {
    // A value thousands of levels deep: JSON.parse can read it, but JSON.stringify cannot write it.
    return false;
  }
}

/** The targets of a message, unless the member `tool` says all of them. */
function loggedTargets(targets: readonly McpTarget[]): readonly McpTarget[] | undefined {
  if (targets.every(({ kind }) => kind === 'tool')) return undefined;
  return targets.slice(0, MAX_TARGETS).map(({ kind, name }) => ({ kind, name: shared(name.slice(0, MAX_LENGTH)) }));
}
