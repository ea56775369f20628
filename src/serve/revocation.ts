/**
 * Revocation, as the processes of a gateway share it: one of them keeps revocations, all of them have the index.
 *
 * @module
 */

import type { Clock } from '../lib/clock.ts';
import type { Config } from '../model/config.ts';
import type {
  OperatorRevocations,
  Revocation,
  RevocationAnswer,
  RevocationNews,
  RevocationQuestion,
} from '../model/revocation.ts';
import { connectStore } from '../store/connection.ts';
import { RevocationIndex } from '../store/revocation-index.ts';
import { createSealing } from '../store/sealing.ts';
import type { Log } from '../telemetry/log.ts';
import { createRevocationMetrics, type Metrics } from '../telemetry/metrics.ts';
import type { RevocationAccess } from './gateway/scopes.ts';

/** The process that keeps revocations. */
export interface KeptRevocations extends RevocationAccess, OperatorRevocations {
  readonly check: RevocationIndex;
  readonly metrics: Metrics['page'];
  /** Calls `listener` with everything that other processes have to learn, from now on. */
  follow(listener: (news: RevocationNews) => void, onReady?: () => void): void;
  use(config: Config): void;
  close(): Promise<void>;
}

/** How many revocations one message to another process carries. */
const MESSAGE = 1_000;

/**
 * Opens the revocation of this process. Loads its code only here: most gateways do without.
 *
 * @throws {RevocationFileFault} if `revocation.file` cannot be used.
 */
export async function openRevocation(config: Config, log: Log, clock: Clock): Promise<KeptRevocations> {
  const { Revocations } = await import('../revocation/revocations.ts');
  const check = new RevocationIndex(clock);
  const { events, page } = createRevocationMetrics();
  const followers: { readonly listener: (news: RevocationNews) => void; readonly onReady: () => void }[] = [];
  const revocations = await Revocations.open(config, {
    index: check,
    observer: {
      counted: events.revocation,
      sourceUp: events.revocationSourceUp,
      event: (...event) => log.event(...event),
    },
    storeObserver: { storeUp() {}, storeRequest() {} },
    logStore: (level, msg, fields) => log.event(level, `${msg} (revocations)`, fields),
    clock,
    onNews(news) {
      for (const { listener } of followers) listener(news);
    },
    onReady() {
      for (const { onReady } of followers) onReady();
    },
  });
  return {
    check,
    metrics() {
      events.revocationsKept(check.size);
      return page();
    },
    receive: (question) => revocations.answer(question),
    follow: (listener, onReady = () => {}) => void followers.push({ listener, onReady }),
    all: () => check.all(),
    revoke: (command) => revocations.revoke(command),
    state: () => revocations.state(),
    use(next) {
      revocations.use(next);
      for (const { onReady } of followers) onReady();
    },
    close: () => revocations.close(),
  };
}

/** What another process of the gateway learns. */
export type RevocationMessage =
  | { readonly kind: 'revoked'; readonly news: RevocationNews }
  /** Whether everything is known that replicas have kept, and how long it is remembered. */
  | { readonly kind: 'revocations-ready'; readonly isReady: boolean; readonly keepMs: number };

/** Everything that a process that begins has to know, in messages of a bounded size. */
export function* everything(check: RevocationIndex): Iterable<RevocationMessage> {
  let revocations: Revocation[] = [];
  for (const revocation of check.all()) {
    revocations.push(revocation);
    if (revocations.length < MESSAGE) continue;
    yield { kind: 'revoked', news: { revocations, dropped: [] } };
    revocations = [];
  }
  if (revocations.length > 0) yield { kind: 'revoked', news: { revocations, dropped: [] } };
  yield readiness(check);
}

/** Takes a message into the index of this process. */
export function learn(index: RevocationIndex, message: RevocationMessage): void {
  if (message.kind === 'revoked') index.add(message.news.revocations);
  else {
    index.keepFor(message.keepMs);
    index.setReady(message.isReady);
  }
}

/** {@link RevocationMessage} of an index. */
export function readiness(check: RevocationIndex): RevocationMessage {
  return { kind: 'revocations-ready', isReady: check.isReady(), keepMs: check.keepMs };
}

/** A question of a worker to the primary process, and its answer. */
export interface WorkerQuestion {
  readonly kind: 'revocation';
  readonly number: number;
  readonly question: RevocationQuestion;
}

/** The answer of the primary process. */
export interface PrimaryAnswer {
  readonly kind: 'revocation-answer';
  readonly number: number;
  readonly answer: RevocationAnswer;
}

/** How long a transmitter waits for the primary process, which may wait for the store and for keys. */
const PATIENCE_MS = 15_000;
/** The questions in flight: a flood of forged events must not fill the memory of the primary process. */
const MAX_WAITING = 500;

/** The receiver of a worker, which asks the primary process. */
export class AskingReceiver {
  readonly #ask: (question: WorkerQuestion) => void;
  readonly #waiting = new Map<number, (answer: RevocationAnswer) => void>();
  #asked = 0;

  constructor(ask: (question: WorkerQuestion) => void) {
    this.#ask = ask;
  }

  receive(question: RevocationQuestion): Promise<RevocationAnswer> {
    if (this.#waiting.size >= MAX_WAITING) return Promise.resolve({ status: 503 });
    return new Promise((resolve) => {
      const number = (this.#asked += 1);
      const timer = setTimeout(() => settle({ status: 503 }), PATIENCE_MS);
      const settle = (answer: RevocationAnswer): void => {
        clearTimeout(timer);
        this.#waiting.delete(number);
        resolve(answer);
      };
      this.#waiting.set(number, settle);
      this.#ask({ kind: 'revocation', number, question });
    });
  }

  onAnswer({ number, answer }: PrimaryAnswer): void {
    this.#waiting.get(number)?.(answer);
  }
}

/** The kept revocations of a front door that runs alone, which reads them from the store; undefined: it has none. */
export async function followStore(config: Config, log: Log): Promise<RevocationIndex | undefined> {
  const { revocation, shared, sessionKey } = config;
  if (revocation === undefined) return undefined;
  if (shared === undefined || sessionKey === undefined) {
    log.event('warn', 'a front door alone needs shared to learn of revocations: sessions and refresh tokens stay');
    return undefined;
  }
  const { RevocationStore } = await import('../store/revocation-store.ts');
  const index = new RevocationIndex();
  index.keepFor(revocation.keepMs);
  index.setReady(false);
  const observer = { storeUp() {}, storeRequest() {} };
  const store = new RevocationStore({
    connection: connectStore(shared.url, observer, (...event) => log.event(...event)),
    sealing: createSealing(sessionKey),
    clock: Date.now,
    keepMs: () => revocation.keepMs,
    onNews: (revocations) => index.add(revocations),
    onComplete: () => index.setReady(true),
    known: () => index.all(),
    onCorrupt: (key) => log.event('warn', 'shared store holds a revocation that no replica wrote', { key }),
  });
  void store.follow();
  return index;
}
