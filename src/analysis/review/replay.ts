import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import { isDeepStrictEqual } from 'node:util';
import { printable } from '../../core/lib/wording.ts';
import type { NeededApproval } from '../../policy-parts/approvals/needed-approval.ts';
import { isReasonBy } from './policy-reasons.ts';
import type { Config } from '../../ports/config.ts';
import { calledIn, type DecisionRecord, MAX_INNER_NAME } from '../../core/model/decision.ts';
import {
  type Attempt,
  type Decision,
  denialIn,
  type Explanation,
  type Policy,
  type PolicyDecision,
} from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import { lacksPath, recordedAttempt, recordedPrincipal, withShownArguments } from './recorded-decision.ts';
import { reservationOf } from '../../policy-parts/history/reservation.ts';
import type { CallHistory, HistoryCheck } from '../../policy-parts/history/call-history.ts';
import type { LedgerCheck, LedgerEntry, Reservation } from '../../policy-parts/history/ledger.ts';
import type { Principal } from '../../core/model/principal.ts';
import { createReviewLedger, deniedBy, failureOf } from './earlier-calls.ts';
import { ensure } from '../../core/lib/remembered.ts';
import { explain } from './explanation.ts';

/** The change of a decision. `unknown`: it depends on values that are not logged. */
type DecisionChange = 'would be denied' | 'would be allowed' | 'would get another answer' | 'unknown';

interface Difference {
  readonly change: DecisionChange;
  readonly route: string;
  /** The tool, or what else was called. */
  readonly called: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
}

/** A difference, and the number of decisions that have it. */
export type CountedDifference = Difference & { count: number };

/** Adds a difference to those that were found. */
export function countDifference(rows: Map<string, CountedDifference>, difference: Difference, times = 1): void {
  const key = JSON.stringify(Object.values(difference));
  const known = rows.get(key);
  if (known === undefined) rows.set(key, { ...difference, count: times });
  else known.count += times;
}

/**
 * The difference between the decision of `policy` and the recorded one on `route`; undefined if there is none.
 *
 * @param judgeOverTime Called once for each decision, in the order of the log.
 */
export function differenceOf(
  record: DecisionRecord,
  route: Pick<Route, 'protocol' | 'policy'>,
  policy: Policy | undefined,
  { scopeHierarchy, judgeOverTime = openOverTime }: ReplayParts,
): Difference | undefined {
  const before = outcome(kindOf(record.allow, record.shadow), record.reason, record.neededScope);
  // Where no policy decides by paths, differences on two paths are the same.
  const byPath = [policy, route.policy].some((each) => each?.listsRequests);
  const base = {
    route: record.route ?? '',
    called: printable(calledIn(byPath ? record : { ...record, path: undefined })),
    subject: printable(record.subject ?? record.clientId ?? ''),
    before,
  };
  if (policy === undefined) return { ...base, change: 'unknown', after: 'the policy is gone' };
  const principal = recordedPrincipal(record, scopeHierarchy);
  const recorded = recordedAttempt(record, route);
  const attempt = withShownArguments(recorded, record, principal, [policy, route.policy]);
  const knowsArguments = attempt !== recorded;
  const alone = policy.decide(principal, attempt);
  const recordedBy = route.policy?.decide(principal, attempt);
  const now = explain(alone.plan, principal, attempt);
  const then = recordedBy === undefined ? [] : explain(recordedBy.plan, principal, attempt);
  const isChanged = (kind: Explanation['kind']): boolean =>
    !isDeepStrictEqual(conditionsOf(kind, now), conditionsOf(kind, then));
  // The conditions on arguments are the same, so that the logged arguments would be denied again.
  const deniesArguments = record.reason === 'argument.denied' && !record.allow && !knowsArguments;
  const overTime = deniesArguments ? alone : judgeOverTime({ record, recordedBy, principal, attempt, decision: alone });
  const approvalOf = ({ plan }: PolicyDecision): NeededApproval | undefined =>
    approvalsKey.inPlan(plan)?.needed(principal, attempt);
  const needed = approvalOf(alone);
  const isOpen = needed?.isCertain === false && needed.text !== (recordedBy && approvalOf(recordedBy))?.text;
  const decision = needed === undefined ? overTime : withApproval(overTime, needed, record);
  const isCut = record.inner?.some(({ length }) => length >= MAX_INNER_NAME) === true;
  const needsArguments = isChanged('argument') || isChanged('inner') || isCut || isOpen;
  const unknown = lacksPath(policy, attempt)
    ? 'depends on the path, which is not in the log, or cut'
    : whatIsMissing(record, alone, !knowsArguments && needsArguments);
  if (unknown !== undefined) return { ...base, change: 'unknown', after: unknown };
  if (decision === undefined) {
    const isAsRecorded = !isChanged('history') && (record.reason === undefined || isReasonBy('history', record.reason));
    return isAsRecorded ? undefined : { ...base, change: 'unknown', after: 'depends on calls that are not logged' };
  }
  const after = deniesArguments && decision.allow ? before : outcomeOf(decision);
  return after === before ? undefined : { ...base, change: changeOf(before, after), after };
}

function withApproval(
  decision: Decision | undefined,
  { isCertain, isShadow, denial }: NeededApproval,
  { reason, approval }: DecisionRecord,
): Decision | undefined {
  const isMissing = isCertain
    ? approval === undefined || reason === 'approval.required'
    : reason === 'approval.required';
  if (decision?.allow !== true || decision.shadow !== undefined || !isMissing) return decision;
  return isShadow ? { ...decision, shadow: denial } : { allow: false, rule: denial.rule, denial };
}

interface ReplayParts extends Pick<Config, 'scopeHierarchy'> {
  /** Default: rules over time remain open. */
  readonly judgeOverTime?: JudgeOverTime | undefined;
}

/** The values that the log lacks. They matter only if all other conditions would allow the call. */
function whatIsMissing(
  { input: { omitted = [] } }: DecisionRecord,
  decision: Decision,
  argumentsMatter: boolean,
): string | undefined {
  if (omitted.length > 0) return `depends on a claim that is too long for the log: ${omitted.join(', ')}`;
  return decision.allow && argumentsMatter ? 'depends on arguments, which are not logged' : undefined;
}

function conditionsOf(kind: Explanation['kind'], explanations: readonly Explanation[]): readonly unknown[] {
  return explanations
    .flatMap((each) => [each, ...each.parts])
    .filter((each) => each.kind === kind)
    .map(({ rule, wanted }) => [rule, wanted]);
}

function outcomeOf(decision: Decision): string {
  const denial = denialIn(decision);
  const kind = kindOf(decision.allow, decision.allow && decision.shadow !== undefined);
  return outcome(kind, denial?.reason, denial?.scope.join(' '));
}

type Kind = 'allow' | 'shadow deny' | 'deny';

function kindOf(allow: boolean, shadow: boolean): Kind {
  if (!allow) return 'deny';
  return shadow ? 'shadow deny' : 'allow';
}

function outcome(kind: Kind, reason: string | undefined, scope: string | undefined): string {
  if (kind === 'allow') return kind;
  return `${kind} ${reason ?? ''}${scope === undefined || scope === '' ? '' : ` (${scope})`}`;
}

function changeOf(before: string, after: string): DecisionChange {
  const [passed, passes] = [before, after].map((each) => !each.startsWith('deny'));
  if (passed === passes) return 'would get another answer';
  return passes === true ? 'would be allowed' : 'would be denied';
}

/** A recorded call, decided again by a policy, apart from its rules over time. */
interface ReplayedCall {
  readonly record: DecisionRecord;
  /** The decision on it by the policy under which it was recorded. */
  readonly recordedBy: PolicyDecision | undefined;
  readonly principal: Principal;
  readonly attempt: Attempt;
  readonly decision: PolicyDecision;
}

/** Decides a call by rules over time too; undefined if what is recorded does not tell. */
type JudgeOverTime = (call: ReplayedCall) => Decision | undefined;

/** For decisions that are not all of a log, or not in its order: rules over time remain open. */
const openOverTime: JudgeOverTime = ({ principal, attempt, decision }) => {
  const history = decision.allow ? historyKey.inPlan(decision.plan)?.of(principal, attempt) : undefined;
  const isOpen = history !== undefined && history.checks.length + history.unknown.length > 0;
  return isOpen ? undefined : decision;
};

/**
 * The calls of a log, counted in its order by the ledger that counts for the gateway. A call that was not refunded is
 * taken as answered, and a call that cannot be decided again as it was recorded.
 */
export class ReplayedCalls {
  readonly #beganAt: number;
  readonly #refunded: ReadonlySet<string>;
  readonly #ledger = createReviewLedger(() => this.#now);
  readonly #changes = new TrackChanges();
  #now = -Infinity;

  /**
   * @param beganAt When the log begins, in milliseconds since the epoch. Calls before that are not known.
   * @param refunded The decisions on calls that are refunded later in the log.
   */
  constructor(beganAt: number, refunded: ReadonlySet<string>) {
    this.#beganAt = beganAt;
    this.#refunded = refunded;
  }

  /** A call was refunded: it no longer counts. */
  refund(decision: string): void {
    this.#ledger.settle(decision, 'returned');
  }

  readonly judge: JudgeOverTime = (call) => {
    const { record, recordedBy, decision } = call;
    const { id, at } = record;
    this.#now = at;
    const before = countedBy(recordedBy, call);
    const counted = countedBy(decision, call);
    const { refusing, isCertain } = counted === undefined ? met : this.#judged(counted, before, record);
    const passes = refusing === undefined && (isCertain || record.allow);
    const isCounted = decision.allow && (passes || counted?.history.isShadow === true);
    const isRefunded = this.#refunded.has(id);
    if (counted !== undefined && isCounted) {
      this.#ledger.reserve({ ...counted.reservation, checks: [], isShadow: true });
      if (!isRefunded) this.#ledger.settle(id, 'answered');
    }
    if (!isRefunded) {
      this.#changes.note(
        record.allow ? before?.reservation : undefined,
        isCounted ? counted?.reservation : undefined,
        at,
      );
    }
    if (!decision.allow || decision.shadow !== undefined) return decision;
    if (refusing === undefined) return isCertain ? decision : undefined;
    return deniedBy(refusing, counted?.history.isShadow === true);
  };

  #judged(counted: CountedBy, before: CountedBy | undefined, record: DecisionRecord): OverTimeVerdict {
    let isCertain = counted.history.unknown.length === 0;
    for (const [index, check] of counted.history.checks.entries()) {
      const isMet = this.#isMetBy(counted, index, before, record);
      if (isMet === false) return { refusing: check, isCertain };
      if (isMet === undefined) isCertain = false;
    }
    return { refusing: undefined, isCertain };
  }

  /** Whether a check is met; undefined if calls before the log may decide it. */
  #isMetBy(
    { history, reservation }: CountedBy,
    index: number,
    before: CountedBy | undefined,
    record: DecisionRecord,
  ): boolean | undefined {
    const { kind, windowMs } = history.checks[index] as HistoryCheck;
    const isMet = failureOf(this.#ledger, reservation, index) === undefined;
    // An earlier call can only help `after`, and only hurt the others.
    const couldDiffer = isMet !== (kind === 'after') && this.#now - windowMs < this.#beganAt;
    if (!couldDiffer) return isMet;
    const check = reservation.checks[index] as LedgerCheck;
    return before && metAsRecorded(check, before, record, this.#changes.of(check.track, this.#now));
  }
}

interface OverTimeVerdict {
  /** The first rule that is not met for certain. */
  readonly refusing: HistoryCheck | undefined;
  /** Whether all rules before it are met for certain. */
  readonly isCertain: boolean;
}

const met: OverTimeVerdict = { refusing: undefined, isCertain: true };

function countedBy(
  decision: PolicyDecision | undefined,
  { record, principal, attempt }: ReplayedCall,
): CountedBy | undefined {
  const history = decision && historyKey.inPlan(decision.plan)?.of(principal, attempt);
  if (history === undefined) return undefined;
  const { id, route = '' } = record;
  return { history, reservation: reservationOf(history, { id, principal, route, continues: undefined }) };
}

interface CountedBy {
  readonly history: CallHistory;
  readonly reservation: Reservation;
}

/**
 * Whether a check is met, if the recorded decision tells it; undefined if it does not. A call that passed bounds the
 * number of calls before the log from above, and a call that was refused from below. So it passes again under a limit
 * that is not stricter, and is refused again under one that is not laxer. Outside shadow mode, the calls that a quota
 * counted never exceeded its limit: a refused call passes under a limit that has room for it beside all of them.
 *
 * @param before By the policy that made the decision.
 * @param change How many more calls the track has now than when the call was recorded.
 */
export function metAsRecorded(
  { kind, track, limit, amount }: LedgerCheck,
  { history, reservation }: CountedBy,
  record: DecisionRecord,
  change: number,
): boolean | undefined {
  const index = reservation.checks.findIndex((each) => each.kind === kind && each.track === track);
  const then = reservation.checks[index];
  const wasMet = recordedOutcome(history, index, record);
  if (then === undefined || wasMet === undefined) return undefined;
  const room = limit - amount - change - (then.limit - then.amount);
  // `after` is met by a call more than its limit of none.
  const wasExceeded = wasMet === (kind === 'after');
  if (wasExceeded ? room <= 0 : room >= 0) return wasMet;
  return kind === 'quota' && wasExceeded && !record.allow && room >= then.amount ? true : undefined;
}

function recordedOutcome(
  { checks }: CallHistory,
  index: number,
  { allow, reason, rule }: DecisionRecord,
): boolean | undefined {
  if (reason === undefined) return allow;
  const refusing = isReasonBy('history', reason) ? checks.findIndex((check) => check.rule === rule) : -1;
  return index > refusing ? undefined : index < refusing;
}

/** The changes of one track, in the order in which they end: all entries of a track are kept for the same time. */
interface TrackChange {
  readonly all: { readonly endsAt: number; readonly by: 1 | -1 }[];
  /** How many of them have ended. */
  ended: number;
  /** Of those that have not ended. */
  sum: number;
}

/**
 * The number of further calls that tracks have under an edited policy than when a log was recorded. Its time never goes
 * back.
 */
export class TrackChanges {
  readonly #tracks = new Map<string, TrackChange>();

  /** Notes a call: what it left then, and what it leaves now. */
  note({ entries: then } = nothing, { entries: now } = nothing, at: number): void {
    this.#add(now, then, 1, at);
    this.#add(then, now, -1, at);
  }

  of(track: string, at: number): number {
    const changes = this.#tracks.get(track);
    if (changes === undefined) return 0;
    for (let next = changes.all[changes.ended]; next !== undefined && next.endsAt <= at;) {
      changes.sum -= next.by;
      changes.ended += 1;
      next = changes.all[changes.ended];
    }
    return changes.sum;
  }

  #add(entries: readonly LedgerEntry[], others: readonly LedgerEntry[], by: 1 | -1, at: number): void {
    for (const { track, keepMs } of entries) {
      if (others.some((other) => other.track === track)) continue;
      const changes = ensure(this.#tracks, track, (): TrackChange => ({ all: [], ended: 0, sum: 0 }));
      changes.all.push({ endsAt: at + keepMs, by });
      changes.sum += by;
    }
  }
}

const nothing: Pick<Reservation, 'entries'> = { entries: [] };
