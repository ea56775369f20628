/**
 * The approvals of a gateway with several processes: the primary process keeps them, and its workers ask it.
 *
 * @module
 */

import type { ApprovalBook } from '../../model/approval-book.ts';
import { Denial } from '../../model/denial.ts';
import type { MemoryApprovals } from '../../store/memory-approvals.ts';

/** A question of a worker: a step of the book, and its arguments. */
export interface ApprovalQuestion {
  readonly kind: 'approvals';
  readonly number: number;
  readonly step: keyof ApprovalBook;
  readonly about: readonly unknown[];
}

/** The answer to a question, with its number. */
export interface ApprovalReply {
  readonly kind: 'approvals';
  readonly number: number;
  readonly reply: unknown;
}

/** The book of a worker. */
export interface AskingApprovals extends ApprovalBook {
  /** Takes an answer of the primary process. */
  readonly onReply: (reply: ApprovalReply) => void;
}

/** How long a call waits for the primary process: longer than a busy machine keeps a process from running. */
const PATIENCE_MS = 5_000;
const MAX_WAITING = 5_000;

/** Creates the book of a worker. A call that gets no answer in time is refused. */
export function createAskingApprovals(
  tell: (question: ApprovalQuestion) => void,
  patienceMs = PATIENCE_MS,
): AskingApprovals {
  const waiting = new Map<number, (reply: unknown) => void>();
  let asked = 0;

  function ask(step: keyof ApprovalBook, about: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (waiting.size >= MAX_WAITING) throw unavailable(`${MAX_WAITING} questions wait for the primary process`);
      const number = (asked += 1);
      const timer = setTimeout(() => {
        waiting.delete(number);
        reject(unavailable(`the primary process did not answer in ${patienceMs} ms`));
      }, patienceMs);
      waiting.set(number, (reply) => {
        clearTimeout(timer);
        waiting.delete(number);
        resolve(reply);
      });
      tell({ kind: 'approvals', number, step, about });
    });
  }

  return {
    ask: (...about) => ask('ask', about) as ReturnType<ApprovalBook['ask']>,
    // An answer that does not come leaves the approval used: it must not pass twice.
    async settle(...about) {
      await ask('settle', about).catch(() => {});
    },
    decide: (...about) => ask('decide', about) as ReturnType<ApprovalBook['decide']>,
    find: (...about) => ask('find', about) as ReturnType<ApprovalBook['find']>,
    list: (...about) => ask('list', about) as ReturnType<ApprovalBook['list']>,
    expire: (...about) => ask('expire', about) as ReturnType<ApprovalBook['expire']>,
    sweep: (...about) => ask('sweep', about) as ReturnType<ApprovalBook['sweep']>,
    onReply: ({ number, reply }) => waiting.get(number)?.(reply),
  };
}

function unavailable(detail: string): Denial {
  return new Denial('shared_store.unavailable', detail);
}

/** Answers a question of a worker, in the primary process. */
export function replyFrom(book: MemoryApprovals, { number, step, about }: ApprovalQuestion): ApprovalReply {
  const answer = book[step].bind(book) as (...all: readonly unknown[]) => unknown;
  return { kind: 'approvals', number, reply: answer(...about) };
}
