/** @module What the primary process and its workers say to each other, and how a worker asks it. */

import type { Snapshot } from '../../config/files.ts';
import type { Certificates } from '../../lib/certificate-files.ts';
import type { Batch } from '../../admin/console/messages.ts';
import type { ConsoleQuestion } from '../../admin/console/process-source.ts';
import type { ApprovalBook } from '../../model/approval-book.ts';
import { Denial } from '../../model/denial.ts';
import type { Ledger, LedgerVerdict, Reservation, Settlement } from '../../model/ledger.ts';
import type { Sighting } from '../../model/lock.ts';
import type { RevocationAnswer, RevocationQuestion, RevocationReceiver } from '../../model/revocation.ts';
import type { MemoryApprovals } from '../../store/memory-approvals.ts';
import type { MemoryLedger } from '../../store/memory-ledger.ts';
import type { Fixed } from '../reload.ts';
import type { RevocationMessage } from '../revocation.ts';

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
  /** Definitions that another worker saw on a route with a lock. */
  | { readonly kind: 'sightings'; readonly route: string; readonly sightings: readonly Sighting[] }
  /** Asks what definitions this worker saw, for another one that begins. */
  | { readonly kind: 'tell-sightings'; readonly newcomer: number }
  /** Whether to send new decisions. */
  | { readonly kind: 'watch'; readonly isWatched: boolean }
  | { readonly kind: 'stop'; readonly graceMs: number };

/** A message of a worker to the primary process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly url: string }
  /** The worker cannot serve; `why` is one line for the operator. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The worker has reloaded, or refused to: with problems, it keeps the last good configuration. */
  | { readonly kind: 'reloaded'; readonly problems: readonly string[] }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'decisions'; readonly batch: Batch }
  | Question
  /** Definitions that this worker saw, for the others, or for one that begins. */
  | {
      readonly kind: 'sightings';
      readonly route: string;
      readonly sightings: readonly Sighting[];
      readonly newcomer?: number;
    };

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
export interface Reply {
  readonly kind: 'reply';
  readonly number: number;
  /** Undefined for a settlement. */
  readonly answer: unknown;
}

interface Bounds {
  readonly patienceMs: number;
  readonly maxWaiting: number;
}

/** Questions to another process that wait for their answer. */
export class Questions {
  readonly patienceMs: number;
  readonly maxWaiting: number;
  readonly #waiting = new Map<number, (reply: Pick<Reply, 'answer'> | undefined) => void>();
  /** Of all questions of the process: one message brings the replies to all of them. */
  static #asked = 0;

  constructor({ patienceMs, maxWaiting }: Bounds) {
    this.patienceMs = patienceMs;
    this.maxWaiting = maxWaiting;
  }

  get isFull(): boolean {
    return this.#waiting.size >= this.maxWaiting;
  }

  /** Asks with a number of its own, and resolves with the reply that has it; with undefined if none comes in time. */
  ask(send: (number: number) => void): Promise<Pick<Reply, 'answer'> | undefined> {
    return new Promise((resolve) => {
      const number = (Questions.#asked += 1);
      const timer = setTimeout(() => settle(undefined), this.patienceMs);
      const settle = (reply: Pick<Reply, 'answer'> | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(number);
        resolve(reply);
      };
      this.#waiting.set(number, settle);
      send(number);
    });
  }

  onReply({ number, answer }: Pick<Reply, 'number' | 'answer'>): void {
    this.#waiting.get(number)?.({ answer });
  }
}

type Ask = (question: Question) => void;

/** How long a call waits for the primary process: longer than a busy machine keeps a process from running. */
const PATIENCE_MS = 5_000;
/** The questions in flight. The primary process answers many thousands in a second. */
const MAX_WAITING = 5_000;

/**
 * The ledger of a worker. A call that gets no answer in time is refused, whatever `on_store_failure` says: the primary
 * process is on the same machine.
 */
export class AskingLedger implements Ledger {
  readonly #ask: Ask;
  readonly #questions: Questions;

  constructor(ask: Ask, { patienceMs = PATIENCE_MS, maxWaiting = MAX_WAITING }: Partial<Bounds> = {}) {
    this.#ask = ask;
    this.#questions = new Questions({ patienceMs, maxWaiting });
  }

  async reserve(reservation: Reservation): Promise<LedgerVerdict> {
    const { isFull, maxWaiting, patienceMs } = this.#questions;
    if (isFull) throw unavailable(`${maxWaiting} calls wait for the primary process`);
    const reply = await this.#questions.ask((number) =>
      this.#ask({ kind: 'question', number, of: 'ledger', reserve: reservation }),
    );
    if (reply !== undefined) return reply.answer as LedgerVerdict;
    // The question may still arrive. The call does not go on, so that it must not count.
    this.#ask({ kind: 'question', number: 0, of: 'ledger', settle: reservation.id, outcome: 'returned' });
    throw unavailable(`the primary process did not answer in ${patienceMs} ms`);
  }

  async settle(id: string, outcome: Settlement): Promise<void> {
    // Like a call that is never settled, it stays counted.
    if (this.#questions.isFull) return;
    await this.#questions.ask((number) => this.#ask({ kind: 'question', number, of: 'ledger', settle: id, outcome }));
  }

  onReply(reply: Reply): void {
    this.#questions.onReply(reply);
  }
}

/** Creates the book of a worker. A call that gets no answer in time is refused. */
export function createAskingApprovals(
  tell: Ask,
  patienceMs = PATIENCE_MS,
): ApprovalBook & { readonly onReply: (reply: Reply) => void } {
  const questions = new Questions({ patienceMs, maxWaiting: MAX_WAITING });

  async function ask(step: keyof ApprovalBook, about: readonly unknown[]): Promise<unknown> {
    if (questions.isFull) throw unavailable(`${MAX_WAITING} questions wait for the primary process`);
    const found = await questions.ask((number) => tell({ kind: 'question', number, of: 'approvals', step, about }));
    if (found === undefined) throw unavailable(`the primary process did not answer in ${patienceMs} ms`);
    return found.answer;
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
    onReply: (reply) => questions.onReply(reply),
  };
}

function unavailable(detail: string): Denial {
  return new Denial('shared_store.unavailable', detail);
}

/** How long a transmitter waits for the primary process, which may wait for the store and for keys. */
const TRANSMITTER_PATIENCE_MS = 15_000;
/** The questions in flight: a flood of forged events must not fill the memory of the primary process. */
const MAX_EVENTS_WAITING = 500;

/** The receiver of revocations of a worker. */
export class AskingReceiver {
  readonly #ask: Ask;
  readonly #questions = new Questions({
    patienceMs: TRANSMITTER_PATIENCE_MS,
    maxWaiting: MAX_EVENTS_WAITING,
  });

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async receive(question: RevocationQuestion): Promise<RevocationAnswer> {
    if (this.#questions.isFull) return { status: 503 };
    const reply = await this.#questions.ask((number) =>
      this.#ask({ kind: 'question', number, of: 'revocation', question }),
    );
    return (reply?.answer as RevocationAnswer | undefined) ?? { status: 503 };
  }

  onReply(reply: Reply): void {
    this.#questions.onReply(reply);
  }
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
      return stepOf(approvals(), question);
    case 'revocation':
      return revocation?.(question.question) ?? { status: 404 };
  }
}

async function stepOf(
  book: MemoryApprovals | Promise<MemoryApprovals>,
  { step, about }: Extract<Subject, { of: 'approvals' }>,
): Promise<unknown> {
  const kept = await book;
  const answer = kept[step].bind(kept) as (...all: readonly unknown[]) => unknown;
  return answer(...about);
}
