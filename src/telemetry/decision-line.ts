import type { Outcome } from '../model/outcome.ts';
import { calledTool, type Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import {
  callerSummary,
  cut,
  cutIfAny,
  type DecisionSummary,
  durationMs,
  inputOf,
  shared,
  sharedIfAny,
  summaryOf,
} from './decision-summary.ts';

/**
 * The members of a decision's line, in order; JSON.stringify leaves out the undefined ones. A member that an allowed
 * call can have is also in {@link allowedLine}; a test compares the two.
 */
export function decisionLine(summary: DecisionSummary): Readonly<Record<string, unknown>> {
  const { kind, caller, reason } = summary;
  return {
    time: new Date(summary.at).toISOString(),
    level: 'info',
    msg: 'decision',
    decision: summary.id,
    request_id: summary.requestId,
    route: summary.route,
    allow: kind === 'allowed' || kind === 'shadow',
    shadow: kind === 'shadow' ? true : undefined,
    reason,
    detail: summary.detail,
    subject: caller?.subject,
    client_id: caller?.clientId,
    issuer: caller?.issuer,
    method: summary.method,
    tool: summary.tool,
    scope: caller?.scope,
    needed_scope: summary.neededScope,
    policy: summary.policy,
    rule: summary.rule,
    input: inputOf(summary),
    duration_ms: summary.durationMs,
    trace_id: summary.traceId,
  };
}

/**
 * The text of {@link decisionLine} for a call that was allowed and has no denial in shadow mode: the same as by
 * JSON.stringify, but faster, since most lines are of this kind. What a caller repeats is serialized once.
 */
export function allowedLine(outcome: Outcome): string {
  const { call } = outcome;
  return (
    `{"time":"${timestamp()}","level":"info","msg":"decision","decision":"${call.decision}","request_id":"${call.id}"` +
    `${commonText(outcome)},"duration_ms":${durationMs(outcome)}${member('trace_id', call.trace?.traceId)}}`
  );
}

/** The members that decisions on the same call of a caller have in common. */
interface CommonText {
  readonly route: Route | undefined;
  readonly method: string;
  readonly tool: string | undefined;
  readonly rule: string | undefined;
  readonly text: string;
}

/** A principal stays the same object while its token is cached. The newest text is last. */
const commonTexts = new WeakMap<Principal, readonly CommonText[]>();
/** The limit on texts that are kept of a caller. */
const MAX_TEXTS = 4;

function commonText(outcome: Outcome): string {
  const { call, route, principal, attempt, rule } = outcome;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  if (principal === undefined || mcp?.targets.every(({ kind }) => kind === 'tool') === false) return textOf(outcome);
  const method = shared(cut(mcp?.method.name ?? call.method));
  const tool = sharedIfAny(cutIfAny(calledTool(mcp)));
  const texts = commonTexts.get(principal) ?? [];
  for (const kept of texts) {
    if (kept.tool === tool && kept.method === method && kept.rule === rule && kept.route === route) return kept.text;
  }
  // One flat string: V8 would otherwise join its parts again for each line.
  const text = Buffer.from(textOf(outcome)).toString();
  commonTexts.set(principal, [...texts.slice(1 - MAX_TEXTS), { route, method, tool, rule, text }]);
  return text;
}

function textOf(outcome: Outcome): string {
  const { call, route, principal, attempt, rule } = outcome;
  const mcp = attempt?.kind === 'mcp' ? attempt : undefined;
  const policy = route?.policy;
  const caller = principal === undefined ? noCaller : callerText(principal, policy);
  const isUsual = mcp === undefined || mcp.targets.every(({ kind }) => kind === 'tool');
  return (
    member('route', route?.name) +
    ',"allow":true' +
    caller.identity +
    member('method', cut(mcp?.method.name ?? call.method)) +
    member('tool', cutIfAny(calledTool(mcp))) +
    caller.scope +
    member('policy', policy?.name) +
    member('rule', rule) +
    (isUsual ? caller.input : json('input', inputOf(summaryOf(outcome, 0))))
  );
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
  const { subject, clientId, issuer, scope, input } = callerSummary(principal, policy);
  const text: CallerText = {
    policy,
    identity: member('subject', subject) + member('client_id', clientId) + member('issuer', issuer),
    scope: member('scope', scope),
    input: json('input', input),
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
