import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import { reservationOf } from '../../policy-parts/history/reservation.ts';
import { durationMs } from '../../core/lib/quantity.ts';
import type { CallHistory, HistoryCheck } from '../../policy-parts/history/call-history.ts';
import type { EarlierCall } from '../../policy-files/policy-tests.ts';
import type { Attempt, Decision, Explanation, Policy } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import { callerKey } from '../../core/model/caller-key.ts';
import { decisionWith } from './given-approval.ts';
import type { GivenApproval } from '../../policy-files/property.ts';
import type { Decided } from './coverage.ts';
import { attemptOf } from './described-caller.ts';
import { createMemoryLedger, type MemoryLedger } from '../../policy-parts/history/memory-ledger.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { Failed, Reservation } from '../../policy-parts/history/ledger.ts';
import { explain } from './explanation.ts';

interface CallInHistory {
  readonly policy: Policy;
  readonly principal: Principal;
  readonly attempt: Attempt;
  /** In any order; undefined: they are unknown. */
  readonly earlier: readonly EarlierCall[] | undefined;
  /** Undefined: it is unknown whether the call has one. */
  readonly approval?: GivenApproval | undefined;
}

/** Rules over time belong to a route; one of them is described. */
const route = 'described';

/**
 * The decision on a call after described earlier calls, and all conditions with what they found: by the policy, and by
 * the ledger that counts for the gateway. Earlier calls count whether or not the policy allows them. If they are
 * unknown, a rule fails only where no earlier calls could make it hold.
 */
export function decideAfter(call: CallInHistory): Decided {
  const { decision, conditions } = afterEarlierCalls(call);
  const { policy, principal, attempt, approval } = call;
  if (approval === undefined) return { decision, conditions };
  const needed = () => approvalsKey.inPlan(policy.decide(principal, attempt).plan)?.needed(principal, attempt);
  const found = { outcome: approval === 'approved' ? 'holds' : 'fails', found: approval } as const;
  return {
    decision: decisionWith(approval, decision, needed),
    conditions: conditions.map((each) => (isOpenApproval(each) ? Object.assign({}, each, found) : each)),
  };
}

function isOpenApproval({ kind, outcome }: Explanation): boolean {
  return kind === 'approval' && outcome === 'unknown';
}

function afterEarlierCalls({ policy, principal, attempt, earlier }: CallInHistory): Decided {
  const decision = policy.decide(principal, attempt);
  const conditions = explain(decision.plan, principal, attempt);
  const history = historyKey.inPlan(decision.plan)?.of(principal, attempt);
  if (history === undefined) return { decision, conditions };

  let now = 0;
  const ledger = createReviewLedger(() => now);
  const recorded: EarlierEntry[] = [];
  for (const [index, { call, agoMs }] of oldestFirst(earlier ?? []).entries()) {
    const caller = call.subject === undefined ? principal : withSubject(principal, call.subject);
    const before = attemptOf(call);
    const left = historyKey.inPlan(policy.decide(caller, before).plan)?.of(caller, before);
    if (left === undefined) continue;
    now = -agoMs;
    const id = String(index);
    ledger.reserve({ ...reservationOf(left, { id, principal: caller, route, continues: undefined }), isShadow: true });
    const { outcome = 'answered' } = call;
    if (outcome !== 'unanswered') ledger.settle(id, outcome === 'error' ? 'returned' : outcome);
    if (outcome === 'error') continue;
    const isAnswered = outcome === 'answered';
    recorded.push(...left.records.map(({ track, amount }) => ({ track, amount, agoMs, isAnswered })));
  }
  now = 0;

  const whole = reservationOf(history, { id: 'call', principal, route, continues: undefined });
  const found = new Map<string, RuleOutcome>();
  let refusing: HistoryCheck | undefined;
  for (const [index, check] of history.checks.entries()) {
    // A rule with several checks is met if all of them are. The first that fails says what was found.
    if (found.get(check.rule)?.outcome === 'fails') continue;
    const failed = failureOf(ledger, whole, index);
    const retryAfterMs = failed?.why === 'check' ? failed.retryAfterMs : undefined;
    const outcome = failed === undefined ? 'holds' : 'fails';
    // Earlier calls can only help `after`, and only hurt the others.
    const isCertain = outcome === 'fails' && (check.kind !== 'after' || check.track === undefined);
    if (earlier === undefined && !isCertain) continue;
    if (outcome === 'fails') refusing ??= check;
    found.set(check.rule, { outcome, found: inWords(check, recorded, retryAfterMs) });
  }
  return {
    decision: decision.allow ? judged(decision, refusing, history) : decision,
    conditions: conditions.map((each) => withFound(each, found)),
  };
}

function withFound(condition: Explanation, found: ReadonlyMap<string, RuleOutcome>): Explanation {
  const known = condition.kind === 'history' && condition.outcome === 'unknown' ? found.get(condition.rule) : undefined;
  return known === undefined ? condition : { ...condition, ...known };
}

type RuleOutcome = Pick<Explanation, 'outcome' | 'found'>;
type Allowed = Extract<Decision, { readonly allow: true }>;

function judged(allowed: Allowed, check: HistoryCheck | undefined, { isShadow }: CallHistory): Decision {
  return check === undefined || allowed.shadow !== undefined ? allowed : deniedBy(check, isShadow);
}

interface EarlierEntry {
  readonly track: string;
  readonly amount: number;
  readonly agoMs: number;
  readonly isAnswered: boolean;
}

function oldestFirst(
  earlier: readonly EarlierCall[],
): readonly { readonly call: EarlierCall; readonly agoMs: number }[] {
  return earlier
    .map((call) => ({ call, agoMs: durationMs(call.ago) ?? 0 }))
    .toSorted((one, other) => other.agoMs - one.agoMs);
}

function withSubject(principal: Principal, subject: string): Principal {
  const { issuer, clientId, claims } = principal;
  return {
    ...principal,
    subject,
    callerKey: callerKey({ issuer, subject, clientId }),
    claims: { ...claims, sub: subject },
  };
}

function inWords(
  { kind, track, windowMs, amount, limit, decimals, isBroken }: HistoryCheck,
  recorded: readonly EarlierEntry[],
  retryAfterMs: number | undefined,
): string {
  const within = recorded.filter((each) => each.track === track && each.agoMs < windowMs);
  if (kind === 'quota') {
    const used = within.reduce((sum, each) => sum + each.amount, 0);
    const amounts = `${used / 10 ** decimals} used by ${within.length === 1 ? '1 call' : `${within.length} calls`}`;
    const left = `${Math.max(0, limit - used) / 10 ** decimals} left`;
    const canWait = retryAfterMs !== undefined && amount <= limit;
    return `${amounts}, ${left}${canWait ? `; room for this call in ${seconds(retryAfterMs)}` : ''}`;
  }
  if (isBroken) return 'an earlier call of the same batch';
  const latest = (kind === 'after' ? within.filter(({ isAnswered }) => isAnswered) : within).at(-1);
  if (latest !== undefined) return `a call ${seconds(latest.agoMs)} ago`;
  return within.length > 0 ? 'no call that was answered' : 'no call';
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}

/** The ledger that counts for the gateway, for described or recorded calls: no bound refuses one. */
export function createReviewLedger(clock: Clock): MemoryLedger {
  return createMemoryLedger(clock, { ofAll: Infinity, ofOwner: Infinity });
}

/** Judges a call by one of its checks, and counts nothing. @returns undefined if it is met. */
export function failureOf(ledger: MemoryLedger, call: Reservation, check: number): Failed | undefined {
  return ledger.reserve({ ...call, checks: call.checks.slice(check, check + 1), entries: [] }).failed;
}

/** The decision on a call that a rule over time refuses. */
export function deniedBy(check: HistoryCheck, isShadow: boolean): Decision {
  const { rule, denial } = check;
  return isShadow ? { allow: true, rule, shadow: denial } : { allow: false, rule, denial };
}
