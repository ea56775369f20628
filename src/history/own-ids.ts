import { hash, randomBytes } from 'node:crypto';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { CallOutcome, CountedCall } from '../model/counted-call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, MessageId } from '../model/grant.ts';
import type { Ledger } from '../model/ledger.ts';
import type { Route } from '../model/route.ts';

/** How long a request keeps its id if its answer is not read. A server may still answer it. */
const KEEP_MS = 60 * 60_000;

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
 * @returns a function that throws {Denial} `body.message` while another request has the id, `history.full`, or
 *   `shared_store.unavailable`.
 */
export function createCountUnderOwnId(route: Route, ledger: Ledger): CountUnderOwnId {
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
    const id = randomBytes(16).toString('hex');
    const track = hash('sha256', lengthPrefixed([route.name, 'id', sessionId, textOf(messageId)]), 'base64url');
    const { failed } = await ledger.reserve({
      id,
      owner,
      checks: [{ kind: 'never_after', track, amount: 0, limit: 0 }],
      entries: [{ track, amount: 0, keepMs: KEEP_MS }],
      isShadow: false,
      continues: undefined,
    });
    if (failed?.why === 'full') throw new Denial('history.full', failed.detail);
    if (failed !== undefined) throw new Denial('body.message', 'its id is that of another request in progress');
    const release = (): void | Promise<void> => ledger.settle(id, 'returned');
    try {
      return released(id, await count(), release);
    } catch (error) {
      await release();
      throw error;
    }
  }
}

/** A call that releases its id as soon as it is answered. */
function released(id: string, counted: CountedCall | undefined, release: () => void | Promise<void>): CountedCall {
  let isReleased = false;
  let settling: Promise<void> | undefined;
  return {
    id: counted?.id ?? id,
    shadow: counted?.shadow,
    get settling() {
      return settling;
    },
    settle(outcome: CallOutcome, why?: string) {
      if (isReleased) return;
      isReleased = true;
      counted?.settle(outcome, why);
      const releasing = outcome === 'unanswered' ? undefined : release();
      if (counted?.settling === undefined && releasing === undefined) return;
      settling = bothEnd(counted?.settling, releasing).finally(() => {
        settling = undefined;
      });
    },
  };
}

async function bothEnd(one: void | Promise<void>, other: void | Promise<void>): Promise<void> {
  await one;
  await other;
}

/** Servers in JavaScript read two large integers as one, and servers in Python the number 1 and the string "1". */
function textOf(messageId: MessageId): string {
  return String(typeof messageId === 'object' ? Number(JSON.stringify(messageId)) : messageId);
}
