import type { Clock } from '../lib/clock.ts';
import { createExpiringCache, type ExpiringCache } from '../lib/expiring-cache.ts';
import { createSingleFlight, type SingleFlight } from '../lib/single-flight.ts';
import { Denial, refusals, type Reason } from '../model/denial.ts';
import type { SharedAnswers } from '../model/shared.ts';

/** What the upstream gets as `Authorization`, and since when. Plain JSON, so that a store of several replicas can hold it. */
interface KeptCredential {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly obtainedAt: number;
}

/** What is known of exchanges by the key of each, whatever route they are for. */
export interface ExchangeMemory {
  get(key: string): KeptCredential | undefined;
  /**
   * The outcome of `exchange`, which runs unless it runs already for this key. What it brings is kept until `expiresAt`;
   * that it was refused is remembered for a few seconds, so that a caller who asks again and again costs the
   * authorization server no more than one that waits. Only that it could not be asked is forgotten at once.
   */
  obtain(key: string, exchange: () => Promise<NewCredential>): Promise<KeptCredential>;
  /** The upstream did not want it: the next call gets a new one, if this one is not itself that new. */
  invalidate(key: string): void;
}

/** What an exchange brought. */
export interface NewCredential {
  readonly credential: KeptCredential;
  /** Milliseconds since the epoch; the past: it is used by those who wait for it, and then no more. */
  readonly expiresAt: number;
}

interface Remembered {
  readonly reason: Reason;
  readonly detail: string;
}

/** Bounds memory whoever calls; a full cache forgets the least recently used. */
const MAX_CREDENTIALS = 20_000;
/** Until a refused exchange is tried again, and a spurned credential renewed again. */
const COOLDOWN_MS = 5_000;

/** Creates an empty {@link ExchangeMemory}. `answers`: where replicas tell each other what was exchanged, if they do. */
export function createExchangeMemory(clock: Clock, answers?: SharedAnswers): ExchangeMemory {
  const kept: ExpiringCache<KeptCredential> = createExpiringCache(MAX_CREDENTIALS, clock);
  const refused: ExpiringCache<Remembered> = createExpiringCache(MAX_CREDENTIALS, clock);
  const flight: SingleFlight<KeptCredential> = createSingleFlight();

  async function settle(key: string, exchange: () => Promise<NewCredential>): Promise<KeptCredential> {
    try {
      const { credential, expiresAt } = (await fromAnotherReplica(key)) ?? (await exchangeAndShare(key, exchange));
      kept.set(key, credential, expiresAt);
      return credential;
    } catch (error) {
      if (error instanceof Denial && refusals[error.reason].status !== 503) {
        refused.set(key, { reason: error.reason, detail: error.detail }, clock() + COOLDOWN_MS);
      }
      throw error;
    }
  }

  async function fromAnotherReplica(key: string): Promise<NewCredential | undefined> {
    const shared = await answers?.get('exchange', key);
    return isCredential(shared?.answer) ? { credential: shared.answer, expiresAt: shared.expiresAt } : undefined;
  }

  async function exchangeAndShare(key: string, exchange: () => Promise<NewCredential>): Promise<NewCredential> {
    const made = await exchange();
    answers?.set('exchange', key, made.credential, made.expiresAt);
    return made;
  }

  return {
    get: (key) => kept.get(key),
    async obtain(key, exchange) {
      const earlier = refused.get(key);
      if (earlier !== undefined) throw new Denial(earlier.reason, earlier.detail);
      return flight(key, () => settle(key, exchange));
    },
    invalidate(key) {
      const known = kept.get(key);
      if (known === undefined || clock() - known.obtainedAt < COOLDOWN_MS) return;
      kept.delete(key);
      answers?.delete('exchange', key);
    },
  };
}

/** What another replica kept, which may be of another release. */
function isCredential(answer: unknown): answer is KeptCredential {
  if (typeof answer !== 'object' || answer === null) return false;
  const { value, obtainedAt } = answer as Partial<KeptCredential>;
  return typeof value === 'string' && typeof obtainedAt === 'number';
}
