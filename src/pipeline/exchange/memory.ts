import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache, type ExpiringCache } from '../../lib/expiring-cache.ts';
import { createSingleFlight, type SingleFlight } from '../../lib/single-flight.ts';
import { Denial } from '../../model/denial.ts';
import type { Principal } from '../../model/principal.ts';
import { refusals, type Reason } from '../../model/reasons.ts';
import type { SharedAnswers } from '../../model/shared.ts';

/** The `Authorization` value for an upstream, and when it was obtained. Plain JSON, for the shared store. */
interface KeptCredential {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly obtainedAt: number;
}

/** The outcomes of exchanges by cache key, shared by all routes. */
export interface ExchangeMemory {
  get(key: string): KeptCredential | undefined;
  /**
   * The outcome of `exchange` for a caller, which runs once at a time for each key. A credential is kept until
   * `expiresAt`. A refusal is kept for a few seconds, so that a caller who retries causes no extra calls. An outage is
   * not kept.
   */
  obtain(key: string, caller: Principal, exchange: () => Promise<NewCredential>): Promise<KeptCredential>;
  /** Reports that the upstream refused the credential: the next call gets a new one, after a cool-down. */
  invalidate(key: string): void;
  /** Drops the credentials of these callers, here and in the shared store: the next call of each gets a new one. */
  drop(isMeant: (caller: Principal) => boolean): void;
}

/** The result of an exchange. */
export interface NewCredential {
  readonly credential: KeptCredential;
  /** Milliseconds since the epoch. A time in the past: only the waiting callers use it. */
  readonly expiresAt: number;
}

/** A refusal that is kept for {@link COOLDOWN_MS}. */
interface KeptRefusal {
  readonly reason: Reason;
  readonly detail: string;
}

/** Bounds memory; a full cache evicts the least recently used entry. */
const MAX_CREDENTIALS = 20_000;
/** The cool-down before a refused exchange is retried, and before an invalidated credential is replaced again. */
const COOLDOWN_MS = 5_000;

/** Creates an empty {@link ExchangeMemory}. `answers`: the store that replicas share, if there is one. */
export function createExchangeMemory(clock: Clock, answers?: SharedAnswers): ExchangeMemory {
  const kept = createExpiringCache<KeptCredential & { readonly caller: Principal }>(MAX_CREDENTIALS, clock);
  const refused: ExpiringCache<KeptRefusal> = createExpiringCache(MAX_CREDENTIALS, clock);
  const flight: SingleFlight<KeptCredential> = createSingleFlight();
  /** Counts the calls of `drop`: an answer that was under way is older than what happened. */
  let drops = 0;

  async function settle(
    key: string,
    caller: Principal,
    exchange: () => Promise<NewCredential>,
  ): Promise<KeptCredential> {
    const before = drops;
    try {
      const { credential, expiresAt } = (await fromAnotherReplica(key)) ?? (await exchangeAndShare(key, exchange));
      if (drops === before) kept.set(key, { ...credential, caller }, expiresAt);
      else answers?.delete('exchange', key);
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
    async obtain(key, caller, exchange) {
      const earlier = refused.get(key);
      if (earlier !== undefined) throw new Denial(earlier.reason, earlier.detail);
      return flight(key, () => settle(key, caller, exchange));
    },
    invalidate(key) {
      const known = kept.get(key);
      if (known === undefined || clock() - known.obtainedAt < COOLDOWN_MS) return;
      kept.delete(key);
      answers?.delete('exchange', key);
    },
    drop(isMeant) {
      drops += 1;
      for (const [key, { caller }] of Array.from(kept.entries())) {
        if (!isMeant(caller)) continue;
        kept.delete(key);
        answers?.delete('exchange', key);
      }
    },
  };
}

/** Whether an entry of another replica, perhaps of another release, is a credential. */
function isCredential(answer: unknown): answer is KeptCredential {
  if (typeof answer !== 'object' || answer === null) return false;
  const { value, obtainedAt } = answer as Partial<KeptCredential>;
  return typeof value === 'string' && typeof obtainedAt === 'number';
}
