/** @module What the primary process and its workers say to each other, and how a worker asks it. */

import type { Snapshot } from '../../core/config/files.ts';
import type { Certificates } from '../../core/lib/certificate-files.ts';
import type { Batch } from '../../capabilities/console/messages.ts';
import type { ConsoleQuestion } from '../../capabilities/console/process-source.ts';
import { type ApprovalBook, bookOf, stepOf } from '../../core/model/approval-book.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Ledger, LedgerVerdict, Reservation, Settlement } from '../../core/model/ledger.ts';
import type { RevocationAnswer, RevocationQuestion, RevocationReceiver } from '../../core/model/revocation.ts';
import type { MemoryApprovals } from '../../capabilities/approvals/memory-approvals.ts';
import type { MemoryLedger } from '../../capabilities/history/memory-ledger.ts';
import type { Fixed } from '../reload.ts';
import type { RevocationMessage } from '../../capabilities/revocation/opened.ts';
import type { StartMessage } from '../start.ts';

/** A message of the primary process to a worker. */
export type ToWorker =
  | {
      readonly kind: 'begin';
      readonly file: string;
      readonly snapshot: Snapshot;
      /** The settings that the first workers listen with, whatever the snapshot says. */
      readonly fixed: Fixed;
      /** The key that binds sessions if the configuration has none: the same for all workers, in hex. */
      readonly key: string;
      /** The certificate in force, if `tls` is configured: only the primary process reads its files. */
      readonly certificates?: Certificates | undefined;
    }
  | { readonly kind: 'reload'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'reload-refused' }
  | { readonly kind: 'reopen-log' }
  /** Tokens of the front door that were revoked, by their SHA-256 (base64url). */
  | { readonly kind: 'end-tokens'; readonly digests: readonly string[] }
  | { readonly kind: 'renewed'; readonly certificates: Certificates }
  | RevocationMessage
  | Reply
  /** A question of the console. */
  | { readonly kind: 'ask'; readonly number: number; readonly question: ConsoleQuestion; readonly argument: unknown }
  /** News of a capability, from another worker. */
  | { readonly kind: 'news'; readonly capability: string; readonly news: unknown }
  /** Asks for all news of this worker, for another one that begins. */
  | { readonly kind: 'tell-news'; readonly newcomer: number }
  /** Whether to send new decisions. */
  | { readonly kind: 'watch'; readonly isWatched: boolean }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** A message of a worker to the primary process. */
export type FromWorker =
  | StartMessage
  /** The worker has reloaded, or refused to: with problems, it keeps the last good configuration. */
  | { readonly kind: 'reloaded'; readonly problems: readonly string[] }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'decisions'; readonly batch: Batch }
  | Question
  /** News of a capability, for the other workers, or for one that begins. */
  | { readonly kind: 'news'; readonly capability: string; readonly news: unknown; readonly newcomer?: number };

/** Sends a message to the primary process, from a worker. */
export function tellPrimary(message: FromWorker): void {
  process.send?.(message);
}

/** A question of a worker. The primary process keeps what all workers share, and answers with the same number. */
export type Question = { readonly kind: 'question'; readonly number: number } & Subject;

/** The subject of a question: the ledger, a step of the book of approvals with its arguments, or revocations. */
export type Subject =
  | { readonly of: 'ledger'; readonly reserve: Reservation }
  | { readonly of: 'ledger'; readonly settle: string; readonly outcome: Settlement }
  | { readonly of: 'approvals'; readonly step: keyof ApprovalBook; readonly about: readonly unknown[] }
  | { readonly of: 'revocation'; readonly question: RevocationQuestion };

/** The answer to a question. */
interface Reply {
  readonly kind: 'reply';
  readonly number: number;
  /** Undefined for a settlement. */
  readonly answer: unknown;
}

interface Bounds {
  readonly patienceMs: number;
  readonly maxWaiting: number;
}

type NumberedAnswer = Pick<Reply, 'number' | 'answer'>;

/** All questions of this process that wait for their answer, by their numbers. */
const waiting = new Map<number, (reply: NumberedAnswer) => void>();
let lastNumber = 0;

/** Takes the answer to a question of this process. One that comes too late changes nothing. */
export function takeReply(reply: NumberedAnswer): void {
  waiting.get(reply.number)?.(reply);
}

/** Questions of one kind to another process. */
export class Questions<Content> {
  readonly bounds: Bounds;
  readonly #send: (number: number, content: Content) => void;
  #inFlight = 0;

  constructor(send: (number: number, content: Content) => void, bounds: Bounds) {
    this.#send = send;
    this.bounds = bounds;
  }

  get isFull(): boolean {
    return this.#inFlight >= this.bounds.maxWaiting;
  }

  /** Asks with a number of its own, and resolves with the reply that has it; with undefined if none comes in time. */
  async ask(content: Content): Promise<NumberedAnswer | undefined> {
    const number = (lastNumber += 1);
    const { promise, resolve } = Promise.withResolvers<NumberedAnswer | undefined>();
    const timer = setTimeout(resolve, this.bounds.patienceMs, undefined);
    waiting.set(number, resolve);
    this.#inFlight += 1;
    try {
      this.#send(number, content);
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(number);
      this.#inFlight -= 1;
    }
  }
}

type Ask = (question: Question) => void;

function questionsTo(tell: Ask, bounds: Bounds): Questions<Subject> {
  return new Questions((number, subject) => tell({ kind: 'question', number, ...subject }), bounds);
}

/** How long a call waits for the primary process: longer than a busy machine keeps a process from running. */
const PATIENCE_MS = 5_000;
/** The questions in flight. The primary process answers many thousands in a second. */
const MAX_WAITING = 5_000;

/** @throws {Denial} `shared_store.unavailable` if too many `callers` wait, or no answer comes in time. */
async function requireAnswer(questions: Questions<Subject>, callers: string, subject: Subject, onLate = () => {}) {
  const { patienceMs, maxWaiting } = questions.bounds;
  if (questions.isFull) throw unavailable(`${maxWaiting} ${callers} wait for the primary process`);
  const reply = await questions.ask(subject);
  if (reply !== undefined) return reply.answer;
  onLate();
  throw unavailable(`the primary process did not answer in ${patienceMs} ms`);
}

function unavailable(detail: string): Denial {
  return new Denial('shared_store.unavailable', detail);
}

/**
 * Creates the ledger of a worker. A call that gets no answer in time is refused, whatever `on_store_failure` says: the
 * primary process is on the same machine.
 */
export function createAskingLedger(
  tell: Ask,
  { patienceMs = PATIENCE_MS, maxWaiting = MAX_WAITING }: Partial<Bounds> = {},
): Ledger {
  const questions = questionsTo(tell, { patienceMs, maxWaiting });
  return {
    async reserve(reservation) {
      const { id } = reservation;
      const verdict = await requireAnswer(questions, 'calls', { of: 'ledger', reserve: reservation }, () =>
        // The question may still arrive. The call does not go on, so that it must not count.
        tell({ kind: 'question', number: 0, of: 'ledger', settle: id, outcome: 'returned' }),
      );
      return verdict as LedgerVerdict;
    },
    async settle(id, outcome) {
      // Like a call that is never settled, it stays counted.
      if (!questions.isFull) await questions.ask({ of: 'ledger', settle: id, outcome });
    },
  };
}

/** Creates the book of a worker. A call that gets no answer in time is refused. */
export function createAskingApprovals(tell: Ask, patienceMs = PATIENCE_MS): ApprovalBook {
  const questions = questionsTo(tell, { patienceMs, maxWaiting: MAX_WAITING });
  const book = bookOf((step, about) => requireAnswer(questions, 'questions', { of: 'approvals', step, about }));
  // An answer that does not come leaves the approval used: it must not pass twice.
  return { ...book, settle: async (...about) => Promise.resolve(book.settle(...about)).catch(() => {}) };
}

/** How long a transmitter waits for the primary process, which may wait for the store and for keys. */
const TRANSMITTER_PATIENCE_MS = 15_000;
/** The questions in flight: a flood of forged events must not fill the memory of the primary process. */
const MAX_EVENTS_WAITING = 500;

/** Creates the receiver of revocations of a worker. */
export function createAskingReceiver(tell: Ask): RevocationReceiver {
  const questions = questionsTo(tell, { patienceMs: TRANSMITTER_PATIENCE_MS, maxWaiting: MAX_EVENTS_WAITING });
  return async (question) => {
    const reply = questions.isFull ? undefined : await questions.ask({ of: 'revocation', question });
    return (reply?.answer as RevocationAnswer | undefined) ?? { status: 503 };
  };
}

/** The parts that the primary process keeps for all workers. */
export interface KeptForWorkers {
  readonly ledger: MemoryLedger;
  readonly approvals: () => MemoryApprovals | Promise<MemoryApprovals>;
  /** Undefined without `revocation`. */
  readonly revocation: RevocationReceiver | undefined;
}

/** Answers a question of a worker, in the primary process: a reservation in the same turn. */
export function answerTo(question: Subject, { ledger, approvals, revocation }: KeptForWorkers): unknown {
  switch (question.of) {
    case 'ledger':
      return 'reserve' in question
        ? ledger.reserve(question.reserve)
        : ledger.settle(question.settle, question.outcome);
    case 'approvals':
      return stepOf(approvals(), question.step, question.about);
    case 'revocation':
      return revocation?.(question.question) ?? { status: 404 };
  }
}
