import { type Outcome, toolOf } from '../model/outcome.ts';
import type { McpTarget, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { DecisionInput } from '../model/decision-input.ts';

/**
 * The members of a decision's line, in order; JSON.stringify leaves out the undefined ones. A member that an allowed
 * call can have is also in {@link allowedLine}; a test compares the two.
 */
export function decisionLine(outcome: Outcome): object {
  const { call, route, principal, attempt, denial, shadow } = outcome;
  const refused = denial ?? shadow;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  return {
    time: timestamp(),
    level: 'info',
    msg: 'decision',
    decision: call.decision,
    request_id: call.id,
    route: route?.name,
    allow: outcome.allow,
    shadow: shadow === undefined ? undefined : true,
    reason: refused?.reason,
    detail: refused?.detail,
    subject: principal?.subject,
    client_id: principal?.clientId,
    issuer: principal?.issuer,
    method: cut(mcp?.method ?? call.method),
    tool: cut(toolOf(mcp)),
    scope: principal && grantedScope(principal),
    needed_scope: refused === undefined || refused.scope.length === 0 ? undefined : refused.scope.join(' '),
    policy: route?.policy?.name,
    rule: outcome.rule,
    input: decisionInput(outcome),
    duration_ms: durationMs(outcome),
    trace_id: call.trace?.traceId,
  };
}

/**
 * The text of {@link decisionLine} for a call that was allowed and has no denial in shadow mode: the same as by
 * JSON.stringify, but faster, since most lines are of this kind. The members of a caller are serialized once.
 */
export function allowedLine(outcome: Outcome): string {
  const { call, route, principal, attempt, rule } = outcome;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  const policy = route?.policy;
  const caller = principal === undefined ? noCaller : callerText(principal, policy);
  const isUsual = mcp === undefined || mcp.targets.every(({ kind }) => kind === 'tool');
  return (
    `{"time":"${timestamp()}","level":"info","msg":"decision","decision":"${call.decision}","request_id":"${call.id}"` +
    member('route', route?.name) +
    ',"allow":true' +
    caller.identity +
    member('method', cut(mcp?.method ?? call.method)) +
    member('tool', cut(toolOf(mcp))) +
    caller.scope +
    member('policy', policy?.name) +
    member('rule', rule) +
    (isUsual ? caller.input : json('input', decisionInput(outcome))) +
    `,"duration_ms":${durationMs(outcome)}` +
    member('trace_id', call.trace?.traceId) +
    '}'
  );
}

/** Shortens a name that the caller chose. */
function cut(text: string | undefined): string | undefined {
  return text !== undefined && text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

/** The scope of the token; undefined if it grants none. */
function grantedScope({ grantedScopes }: Principal): string | undefined {
  return grantedScopes.length === 0 ? undefined : grantedScopes.join(' ');
}

let lastSecond = { at: NaN, text: '' };

/** The current time, RFC 3339. To format a date takes longer than the rest of the line: it is done once a second. */
function timestamp(): string {
  const now = Date.now();
  const milliseconds = now % 1000;
  const at = now - milliseconds;
  if (at !== lastSecond.at) lastSecond = { at, text: new Date(at).toISOString().slice(0, -'000Z'.length) };
  return `${lastSecond.text}${String(milliseconds).padStart(3, '0')}Z`;
}

function durationMs({ decidedAt, call }: Outcome): number {
  return Math.round((decidedAt - call.startedAt) * 1000) / 1000;
}

/** The members that depend on the caller and the policy alone, as JSON. */
interface CallerText {
  readonly policy: Policy | undefined;
  readonly identity: string;
  readonly scope: string;
  readonly input: string;
}

const noCaller: CallerText = { policy: undefined, identity: '', scope: '', input: '' };

/** A principal stays the same object while its token is cached. */
const callerTexts = new WeakMap<Principal, CallerText>();

function callerText(principal: Principal, policy: Policy | undefined): CallerText {
  const kept = callerTexts.get(principal);
  if (kept !== undefined && kept.policy === policy) return kept;
  const { subject, clientId, issuer } = principal;
  const text: CallerText = {
    policy,
    identity: member('subject', subject) + member('client_id', clientId) + member('issuer', issuer),
    scope: member('scope', grantedScope(principal)),
    input: policy === undefined ? '' : json('input', callerInput(policy, principal)),
  };
  callerTexts.set(principal, text);
  return text;
}

/** Characters that JSON does not escape. */
const plain = /^[ !#-[\]-~]*$/;

function member(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  return plain.test(value) ? `,"${name}":"${value}"` : json(name, value);
}

function json(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

/** The longest claim and the longest name that are logged, in UTF-16 code units of JSON. */
const MAX_LENGTH = 512;
/** The limit on logged targets of one message. */
const MAX_TARGETS = 32;

/** The member `input`; undefined if no policy decided, or if the policy read nothing more. */
export function decisionInput({ route, principal, attempt }: Outcome): DecisionInput | undefined {
  const policy = route?.policy;
  if (policy === undefined || principal === undefined) return undefined;
  const targets = attempt?.kind === 'mcp' ? loggedTargets(attempt.targets) : undefined;
  const caller = callerInput(policy, principal);
  return targets === undefined ? caller : { ...caller, targets };
}

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

/** The targets, unless the member `tool` says all of them. */
function loggedTargets(targets: readonly McpTarget[]): readonly McpTarget[] | undefined {
  if (targets.every(({ kind }) => kind === 'tool')) return undefined;
  return targets.slice(0, MAX_TARGETS).map(({ kind, name }) => ({ kind, name: name.slice(0, MAX_LENGTH) }));
}
