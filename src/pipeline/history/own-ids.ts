import { hash, randomBytes } from 'node:crypto';
import { lengthPrefixed } from '../../lib/length-prefixed.ts';
import { processTimers, type Timers } from '../../lib/clock.ts';
import type { CallOutcome, CountedCall } from '../../model/counted-call.ts';
import { Denial } from '../../model/denial.ts';
import type { Grant, MessageId } from '../../model/grant.ts';
import type { Ledger, Reservation, LedgerVerdict } from '../../model/ledger.ts';
import type { Route } from '../../model/route.ts';

/** How long a request keeps its id if its answer is not read. A server may still answer it. */
const KEEP_MS = 60 * 60_000;
/** How often a request in progress takes its id again, so that a store may be away for some of these times. */
const RENEW_MS = KEEP_MS / 6;

/** Counts a call, or returns undefined for one that no rule concerns. */
type CountCall = () => CountedCall | undefined | Promise<CountedCall | undefined>;

/** Takes the id of a request in a session until its answer is read, and counts the request. */
export type CountUnderOwnId = (grant: Grant, owner: () => string, count: CountCall) => ReturnType<CountCall>;

/**
 * Creates the guarantee that an answer settles no other call than its own. Servers find the connection for an answer by
 * the session and the id of the request. With a second request under the same id, a caller could let the answer to a
 * harmless request settle a payment. An id MUST NOT be used twice in a session (MCP 2025-11-25, Base Protocol), but
 * many clients do so once they have their answer.
 *
 * @returns a function that throws {Denial} `body.message` while another request has the id, and for an id that servers
 *   compare differently, `history.full`, or `shared_store.unavailable`.
 */
export function createCountUnderOwnId(route: Route, ledger: Ledger, timers: Timers = processTimers): CountUnderOwnId {
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
    if (failed?.why === 'full') throw new Denial('history.full', failed.detail);
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

/** The id of a request in progress. */
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
