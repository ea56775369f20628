/**
 * The ledger of a gateway with several processes: the primary process counts, and its workers ask it.
 *
 * @module
 */

import type { MemoryLedger } from '../../store/memory-ledger.ts';
import { Denial } from '../../model/denial.ts';
import type { Ledger, Reservation, Settlement, LedgerVerdict } from '../../model/ledger.ts';

/** A question of a worker. The primary process answers it with the same number. */
export type LedgerQuestion = {
  readonly kind: 'ledger';
  readonly number: number;
} & ({ readonly reserve: Reservation } | { readonly settle: string; readonly outcome: Settlement });

/** The answer to a question. A settlement has no verdict. */
export interface LedgerAnswer {
  readonly kind: 'counted';
  readonly number: number;
  readonly verdict?: LedgerVerdict | undefined;
}

/** The ledger of a worker. */
export interface AskingLedger extends Ledger {
  /** Takes an answer of the primary process. */
  readonly onAnswer: (answer: LedgerAnswer) => void;
}

/** How long a call waits for the primary process: longer than a busy machine keeps a process from running. */
const PATIENCE_MS = 5_000;
/** The questions in flight. The primary process answers many thousands in a second. */
const MAX_WAITING = 5_000;

/**
 * Creates the ledger of a worker. A call that gets no answer in time is refused, whatever `on_store_failure` says: the
 * primary process is on the same machine.
 */
export function createAskingLedger(
  ask: (question: LedgerQuestion) => void,
  { patienceMs = PATIENCE_MS, maxWaiting = MAX_WAITING } = {},
): AskingLedger {
  const waiting = new Map<number, (verdict: LedgerVerdict | undefined) => void>();
  let asked = 0;

  /** Resolves with undefined if there was no answer in time. */
  function answerTo(question: { reserve: Reservation } | { settle: string; outcome: Settlement }) {
    return new Promise<LedgerVerdict | undefined>((resolve) => {
      const number = (asked += 1);
      const timer = setTimeout(() => settled(undefined), patienceMs);
      const settled = (verdict: LedgerVerdict | undefined): void => {
        clearTimeout(timer);
        waiting.delete(number);
        resolve(verdict);
      };
      waiting.set(number, settled);
      ask({ kind: 'ledger', number, ...question });
    });
  }

  return {
    async reserve(reservation) {
      if (waiting.size >= maxWaiting) throw unavailable(`${maxWaiting} calls wait for the primary process`);
      const verdict = await answerTo({ reserve: reservation });
      if (verdict !== undefined) return verdict;
      // The question may still arrive. The call does not go on, so that it must not count.
      ask({ kind: 'ledger', number: 0, settle: reservation.id, outcome: 'returned' });
      throw unavailable(`the primary process did not answer in ${patienceMs} ms`);
    },
    async settle(id, outcome) {
      // Like a call that is never settled, it stays counted.
      if (waiting.size >= maxWaiting) return;
      await answerTo({ settle: id, outcome });
    },
    onAnswer: ({ number, verdict }) => waiting.get(number)?.(verdict),
  };
}

function unavailable(detail: string): Denial {
  return new Denial('shared_store.unavailable', detail);
}

/** Answers a question of a worker, in the primary process. */
export function answerFrom(ledger: MemoryLedger, question: LedgerQuestion): LedgerAnswer {
  const { number } = question;
  if ('reserve' in question) return { kind: 'counted', number, verdict: ledger.reserve(question.reserve) };
  ledger.settle(question.settle, question.outcome);
  return { kind: 'counted', number };
}
