import { toolOf, type Outcome } from '../model/outcome.ts';
import type { Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { callerInput, decisionInput } from './decision-input.ts';

/** What a caller chose, as much of it as says what it is. */
function cut(text: string | undefined): string | undefined {
  return text !== undefined && text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

/** As the token says it; undefined where it grants none. */
function grantedScope({ grantedScopes }: Principal): string | undefined {
  return grantedScopes.length === 0 ? undefined : grantedScopes.join(' ');
}

let last = { at: NaN, text: '' };

/** Now, as RFC 3339 has it; made once a millisecond. */
function timestamp(): string {
  const at = Date.now();
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

/** The members of a decision's line, in this order; the undefined ones are left out by JSON.stringify. */
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

function durationMs({ decidedAt, call }: Outcome): number {
  return Math.round((decidedAt - call.startedAt) * 1000) / 1000;
}

/**
 * The line of a call that was allowed and that nothing would have denied, as JSON.stringify writes {@link decisionLine}:
 * nearly every line is one, and what its token says is written once.
 */
export function allowedLine(outcome: Outcome): string {
  const { call, route, principal, attempt, rule } = outcome;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  const policy = route?.policy;
  const caller = principal === undefined ? nobody : callerText(principal, policy);
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

/** What a line says of a caller, as JSON. */
interface CallerText {
  readonly policy: Policy | undefined;
  readonly identity: string;
  readonly scope: string;
  readonly input: string;
}

const nobody: CallerText = { policy: undefined, identity: '', scope: '', input: '' };

/** A principal stays the same object as long as its token is known, and is asked the same by the same policy. */
const known = new WeakMap<Principal, CallerText>();

function callerText(principal: Principal, policy: Policy | undefined): CallerText {
  const last = known.get(principal);
  if (last !== undefined && last.policy === policy) return last;
  const { subject, clientId, issuer } = principal;
  const text: CallerText = {
    policy,
    identity: member('subject', subject) + member('client_id', clientId) + member('issuer', issuer),
    scope: member('scope', grantedScope(principal)),
    input: policy === undefined ? '' : json('input', callerInput(policy, principal)),
  };
  known.set(principal, text);
  return text;
}

/** What JSON writes as it is. */
const plain = /^[ !#-[\]-~]*$/;

function member(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  return plain.test(value) ? `,"${name}":"${value}"` : json(name, value);
}

function json(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}
