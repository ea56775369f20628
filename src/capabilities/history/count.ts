import { historyKey } from '../../policy-parts/history/key.ts';
import { randomBytes, hash } from 'node:crypto';
import { parseToRewrite } from '../../core/lib/json/lossless.ts';
import { ownMemberAt } from '../../core/lib/json/own-member.ts';
import { reasons } from './reasons.ts';
import { callerOf, reservationOf } from '../../policy-parts/history/reservation.ts';
import type { Call } from '../../core/model/call.ts';
import { Denial, type ShadowDenial } from '../../core/model/denial.ts';
import type { Action, Grant, MessageId } from '../../core/model/grant.ts';
import type { CallOutcome, CountedCall, Settlement } from '../../core/model/history.ts';
import type { CallHistory, HistoryCheck } from '../../policy-parts/history/call-history.ts';
import type { Failed, Ledger, LedgerVerdict, Reservation } from '../../policy-parts/history/ledger.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { processTimers, type Timers } from '../../core/lib/clock.ts';

/** Judges a granted call by the rules over time of its policy, and counts it. */
export type Count = (call: Call, grant: Grant) => CountedCall | undefined | Promise<CountedCall | undefined>;

/** The parts that counting depends on. */
export interface CountParts {
  readonly ledger: Ledger;
  /** Records that a call was refunded, and why. */
  readonly onReturned: (call: Call, route: Route, why: string) => void;
}

/**
 * Creates the counting of a route: the last of the stages that decide, so that a call which is refused for another
 * reason uses up nothing.
 *
 * @returns undefined for a route whose policy has no rules over time. Otherwise a function that throws {Denial}
 *   `history.missing`, `history.forbidden`, `quota.exceeded`, `history.full`, or `shared_store.unavailable`.
 */
export function createCount(route: Route, { ledger, onReturned }: CountParts): Count | undefined {
  if (route.policy === undefined || historyKey.inPolicy(route.policy) === undefined) return undefined;
  const underOwnId = createCountUnderOwnId(route, ledger);

  const countFor = (call: Call, grant: Grant, { principal, history }: CallerHistory): ReturnType<Count> => {
    const { action, decision } = grant;
    if (history === undefined) return followedTask(action, ledger, route.name);
    const { isShadow, checks } = history;
    const id = newId();
    const counted = (shadow?: ShadowDenial): CountedCall =>
      new LedgerCall(id, shadow, (outcome, why) => {
        if (outcome === 'returned') onReturned(call, route, why);
        return ledger.settle(id, outcome, route.name);
      });
    const judged = ({ failed }: LedgerVerdict): CountedCall => {
      if (failed === undefined) return counted();
      return refused(denialOf(failed, checks));
    };
    const refused = (denial: unknown): CountedCall => {
      if (!isShadow || !(denial instanceof Denial)) throw denial;
      return counted(inShadow(denial, decision.rule));
    };
    const { continues } = action;
    const verdict = ledger.reserve(reservationOf(history, { id, principal, route: route.name, continues }));
    return verdict instanceof Promise ? verdict.then(judged, refused) : judged(verdict);
  };

  return (call, grant) => {
    const caller = historyOf(route, grant);
    return underOwnId(
      grant,
      () => callerOf(caller.principal),
      () => countFor(call, grant, caller),
    );
  };
}

/**
 * Creates the judgement by rules over time, which counts nothing: a call that waits for a person must not count.
 *
 * @returns undefined for a route without such rules. Otherwise a function that rejects as {@link createCount} throws.
 */
export function createJudge(route: Route, ledger: Ledger): ((grant: Grant) => Promise<void>) | undefined {
  if (route.policy === undefined || historyKey.inPolicy(route.policy) === undefined) return undefined;
  return async (grant) => {
    const { principal, history } = historyOf(route, grant);
    if (history === undefined || history.isShadow) return;
    const call = { id: newId(), principal, route: route.name, continues: undefined };
    const { failed } = await ledger.reserve({ ...reservationOf(history, call), entries: [] });
    if (failed !== undefined) throw denialOf(failed, history.checks);
  };
}

interface CallerHistory {
  readonly principal: Principal;
  /** Undefined for a call that no rule over time concerns. */
  readonly history: CallHistory | undefined;
}

/** A route with a policy is not public, so that both the principal and the plan are there. Anything else is a bug. */
function historyOf({ name }: Route, { principal, action, decision: { plan } }: Grant): CallerHistory {
  if (principal === undefined || plan === undefined) throw new TypeError(`route ${name}: no principal or no plan`);
  return { principal, history: historyKey.inPlan(plan)?.of(principal, action.attempt, () => exactArguments(action)) };
}

/** The arguments of a message, with numbers as they were written where JavaScript would round them. */
function exactArguments({ body }: Action): unknown {
  return ownMemberAt(parseToRewrite(String(body)), ['params', 'arguments']);
}

/**
 * A message about a task that a counted call created, such as the request for its result. It is not counted itself; the
 * call that created the task is answered when its result is fetched.
 */
function followedTask({ attempt, tasks }: Action, ledger: Ledger, route: string): CountedCall | undefined {
  if (attempt.kind === 'http' || attempt.method.fetches === undefined) return undefined;
  // `_meta` may relate a message to another task than the one whose result it fetches.
  const [origin] = tasks?.size === 1 ? tasks.values() : [];
  const id = origin?.counted;
  if (id === undefined) return undefined;
  return new LedgerCall(id, undefined, (outcome) =>
    outcome === 'answered' ? ledger.settle(id, outcome, route) : undefined,
  );
}

/**
 * A counted call until it is settled. A class, because V8 makes a hidden class for each object literal with a getter:
 * that would keep the getter, and with it the whole request, until the next full collection.
 */
class LedgerCall implements CountedCall {
  readonly id: string;
  readonly shadow: ShadowDenial | undefined;
  readonly #settle: (outcome: Settlement, why: string) => void | Promise<void>;
  #isSettled = false;
  #settling: Promise<void> | undefined;

  constructor(
    id: string,
    shadow: ShadowDenial | undefined,
    settle: (outcome: Settlement, why: string) => void | Promise<void>,
  ) {
    this.id = id;
    this.shadow = shadow;
    this.#settle = settle;
  }

  get settling(): Promise<void> | undefined {
    return this.#settling;
  }

  settle(outcome: CallOutcome, why = ''): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    if (outcome === 'unanswered' || outcome === 'unclear' || outcome === 'task') return;
    this.#settling = this.#settle(outcome === 'unreached' ? 'returned' : outcome, why)?.finally(() => {
      this.#settling = undefined;
    });
  }
}

function denialOf(failed: Failed, checks: CallHistory['checks']): Denial {
  if (failed.why === 'full') return new Denial(reasons['history.full'], failed.detail);
  const check = checks[failed.check] as HistoryCheck;
  const { reason, detail, rule, because, tool } = check.denial;
  // A call that uses more than the whole quota never passes.
  const canWait = check.kind === 'quota' && check.amount <= check.limit;
  const retryAfterSeconds = canWait ? Math.ceil(failed.retryAfterMs / 1000) : undefined;
  return new Denial(reason, detail, { rule, because, retryAfterSeconds, tool });
}

/** @param entry The rule that is named where no rule refuses, but the ledger. */
function inShadow({ reason, detail, rule, scope }: Denial, entry: string): ShadowDenial {
  return { reason, detail, rule: rule ?? entry, scope };
}

/** How long a request keeps its id if its answer is not read. A server may still answer it. */
const KEEP_MS = 60 * 60_000;
/** How often a request in progress takes its id again, so that a store may be away for some of these times. */
const RENEW_MS = KEEP_MS / 6;

/** Counts a call, or returns undefined for one that no rule concerns. */
type CountCall = () => CountedCall | undefined | Promise<CountedCall | undefined>;

/**
 * Creates the guarantee that an answer settles no other call than its own. Servers find the connection for an answer by
 * the session and the id of the request. With a second request under the same id, a caller could let the answer to a
 * harmless request settle a payment. An id MUST NOT be used twice in a session (MCP 2025-11-25, Base Protocol), but
 * many clients do so once they have their answer.
 *
 * @returns a function that takes the id of a request until its answer is read, and counts the request. It throws
 *   {Denial} `body.message` while another request has the id, and for an id that servers compare differently,
 *   `history.full`, or `shared_store.unavailable`.
 */
export function createCountUnderOwnId(
  route: Route,
  ledger: Ledger,
  timers: Timers = processTimers,
): (grant: Grant, owner: () => string, count: CountCall) => ReturnType<CountCall> {
  // In shadow mode nothing is refused.
  const isEnforced = route.policy?.distinguishesCallers === true;
  return (grant, owner, count) => {
    const { sessionId, messageId } = grant.action;
    if (sessionId === undefined || messageId === null || !isEnforced) return count();
    return inSession(sessionId, messageId, owner(), count);
  };

  async function inSession(
    sessionId: string,
    messageId: MessageId,
    owner: string,
    count: CountCall,
  ): Promise<CountedCall> {
    const id = newId();
    const track = hash('sha256', lengthPrefixed([route.name, 'id', sessionId, textOf(messageId)]), 'base64url');
    const reserve = async (by: string, checks: Reservation['checks']): Promise<LedgerVerdict> =>
      ledger.reserve({
        id: by,
        route: route.name,
        owner,
        checks,
        entries: [{ track, amount: 0, keepMs: KEEP_MS }],
        isShadow: false,
        continues: undefined,
      });
    const { failed } = await reserve(id, [{ kind: 'never_after', track, amount: 0, limit: 0 }]);
    if (failed?.why === 'full') throw new Denial(reasons['history.full'], failed.detail);
    if (failed !== undefined) throw new Denial('body.message', 'its id is that of another request in progress');
    const held = hold(id, async (next) => reserve(next, []));
    try {
      return new CallUnderOwnId(id, await count(), held);
    } catch (error) {
      await held.release();
      throw error;
    }
  }

  /** @param take Takes the id of the request once more, under another name. */
  function hold(first: string, take: (next: string) => Promise<LedgerVerdict>): HeldId {
    let current = first;
    let isInProgress = true;
    let isReleased = false;
    let cancel = timers.after(RENEW_MS, () => void renew());

    async function renew(): Promise<void> {
      const next = newId();
      const verdict = await take(next).catch(() => undefined);
      if (verdict?.passed === true) {
        const ends = isReleased ? next : current;
        current = next;
        void ledger.settle(ends, 'returned', route.name);
      }
      if (isInProgress) cancel = timers.after(RENEW_MS, () => void renew());
    }

    function leave(): void {
      isInProgress = false;
      cancel();
    }

    return {
      leave,
      release() {
        leave();
        isReleased = true;
        return ledger.settle(current, 'returned', route.name);
      },
    };
  }
}

interface HeldId {
  /** Frees the id. */
  release(): void | Promise<void>;
  /** Leaves the id taken for an hour. */
  leave(): void;
}

function newId(): string {
  return randomBytes(16).toString('hex');
}

/** A call that releases its id as soon as it is answered. A class for the reason that `LedgerCall` is one. */
class CallUnderOwnId implements CountedCall {
  readonly id: string;
  readonly #counted: CountedCall | undefined;
  readonly #heldId: HeldId;
  #isSettled = false;
  #settling: Promise<void> | undefined;

  constructor(id: string, counted: CountedCall | undefined, heldId: HeldId) {
    this.id = counted?.id ?? id;
    this.#counted = counted;
    this.#heldId = heldId;
  }

  get shadow(): CountedCall['shadow'] {
    return this.#counted?.shadow;
  }

  get settling(): Promise<void> | undefined {
    return this.#settling;
  }

  settle(outcome: CallOutcome, why?: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#counted?.settle(outcome, why);
    const settling = this.#counted?.settling;
    const releasing = outcome === 'unanswered' ? this.#heldId.leave() : this.#heldId.release();
    if (settling === undefined && releasing === undefined) return;
    this.#settling = bothEnd(settling, releasing).finally(() => {
      this.#settling = undefined;
    });
  }
}

async function bothEnd(one: void | Promise<void>, other: void | Promise<void>): Promise<void> {
  await one;
  await other;
}

/**
 * An id as servers compare it. Servers in Python read the number 1 and the string "1" as one id. Servers in JavaScript
 * round integers from 2^53 on, and others do not: they disagree on which of these are equal.
 */
function textOf(messageId: MessageId): string {
  if (typeof messageId === 'string') return messageId;
  if (Number.isSafeInteger(messageId)) return JSON.stringify(messageId);
  throw new Denial('body.message', 'its id is a number that servers round: use a string, or an integer below 2^53');
}
