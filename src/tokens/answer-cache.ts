import type { Clock } from '../core/lib/clock.ts';
import { createExpiringCache, type ExpiringCache } from '../core/lib/expiring-cache.ts';
import { createSingleFlight } from '../core/lib/single-flight.ts';
import { Denial, isTokenDenial } from '../core/model/denial.ts';
import type { AnswerKind, SharedAnswers } from '../ports/shared.ts';

/** What was found out about a token. */
export interface Answer<Value> {
  readonly value: Value;
  /** Until when it may be used, in ms since the epoch. If that has passed, only the waiting callers get it. */
  readonly expiresAt: number;
  /** Its size, for a cache with a bound in bytes. */
  readonly bytes?: number;
  /** What the store keeps of it, as JSON; undefined: nothing, so that replicas ask. */
  readonly shared?: unknown;
}

/** How to find out about a token. */
export interface AnswerSource<Value> {
  readonly ask: () => Promise<Answer<Value>>;
  /**
   * Reads what a replica shared; undefined: it is unusable, as what another release may have written. Without this
   * function the store is not asked.
   */
  readonly read?: (shared: unknown, expiresAt: number) => Answer<Value> | undefined;
  /** How long a refusal is kept, in ms; default 0. */
  readonly refusalMs?: (denial: Denial) => number;
}

interface Store {
  readonly answers: SharedAnswers;
  readonly kind: AnswerKind;
}

interface CacheParts<Value> {
  readonly clock: Clock;
  /** The most answers, and the most refusals; 0: this process keeps none. The least recently used is evicted. */
  readonly max: number;
  /** The most bytes of all answers. Default: no bound. */
  readonly maxBytes?: number;
  /** Whether a cached value still counts. Default: until it expires. */
  readonly isCurrent?: (value: Value) => boolean;
  /** Default: replicas share no answers. */
  readonly store?: Store | undefined;
}

/**
 * Answers about tokens: from the memory of this process, from the store that replicas share, or by a question. All
 * callers that ask about one key meanwhile share one outcome.
 *
 * Refusals have a memory of their own, so that made-up tokens evict no valid ones. They are not shared. What is no
 * refusal, such as an outage, is not kept.
 */
export class AnswerCache<Value extends object> {
  readonly #clock: Clock;
  readonly #answers: ExpiringCache<Value> | undefined;
  readonly #refusals: ExpiringCache<Pick<Denial, 'refusal' | 'detail'>> | undefined;
  readonly #isCurrent: (value: Value) => boolean;
  readonly #store: Store | undefined;
  readonly #flight = createSingleFlight<Value>();
  /** How often {@link dropInFlight} was called: an answer that was in flight is older than what happened. */
  #drops = 0;

  constructor({ clock, max, maxBytes, isCurrent = () => true, store }: CacheParts<Value>) {
    this.#clock = clock;
    this.#answers = max === 0 ? undefined : createExpiringCache(max, clock, maxBytes);
    this.#refusals = max === 0 ? undefined : createExpiringCache(max, clock);
    this.#isCurrent = isCurrent;
    this.#store = store;
  }

  /** The value that this process keeps. */
  get(key: string): Value | undefined {
    const value = this.#answers?.get(key);
    return value !== undefined && this.#isCurrent(value) ? value : undefined;
  }

  /** The refusal that this process keeps. */
  refusal(key: string): Denial | undefined {
    const kept = this.#refusals?.get(key);
    return kept && new Denial(kept.refusal, kept.detail);
  }

  /**
   * The value for `key`, which is asked for if it is not kept.
   *
   * @throws what the source throws, and the kept refusal.
   */
  obtain(key: string, source: AnswerSource<Value>): Promise<Value> {
    return this.#flight(key, async () => {
      // While this caller waited for its turn, another one may have asked.
      const refusal = this.refusal(key);
      if (refusal !== undefined) throw refusal;
      return this.get(key) ?? this.#settle(key, source);
    });
  }

  /** Asks past what this process keeps, and keeps the answer. It is not shared with callers of {@link obtain}. */
  renew(key: string, source: AnswerSource<Value>): Promise<Value> {
    this.#refusals?.delete(key);
    return this.#flight(`afresh ${key}`, () => this.#settle(key, source));
  }

  /** Forgets the value in this process alone. Returns whether there was one. */
  evict(key: string): boolean {
    return this.#answers?.delete(key) ?? false;
  }

  /** Forgets the value, here and in the store. */
  delete(key: string): void {
    this.evict(key);
    this.#unshare(key);
  }

  /** Keeps no answer that is in flight. The waiting callers get it. */
  dropInFlight(): void {
    this.#drops += 1;
  }

  /** Forgets the values that are meant, here and in the store, and returns them. Keeps no answer that is in flight. */
  drop(isMeant: (value: Value) => boolean): readonly (readonly [key: string, value: Value])[] {
    this.dropInFlight();
    const dropped = [...(this.#answers?.entries() ?? [])].filter(([, value]) => isMeant(value));
    for (const [key] of dropped) this.delete(key);
    return dropped;
  }

  async #settle(key: string, { read, ask, refusalMs }: AnswerSource<Value>): Promise<Value> {
    const before = this.#drops;
    try {
      const kept = read && this.#store && (await this.#store.answers.get(this.#store.kind, key));
      const known = kept && read?.(kept.answer, kept.expiresAt);
      const answer = known ?? (await ask());
      if (this.#drops !== before) this.delete(key);
      else {
        this.#answers?.set(key, answer.value, answer.expiresAt, answer.bytes);
        if (known === undefined) this.#share(key, answer);
      }
      return answer.value;
    } catch (error) {
      if (error instanceof Denial) {
        const { refusal, detail } = error;
        this.#refusals?.set(key, { refusal, detail }, this.#clock() + (refusalMs?.(error) ?? 0));
        // Also in this process: a renewal may be refused while the answer before it would still count.
        if (isTokenDenial(error)) this.delete(key);
      }
      throw error;
    }
  }

  #share(key: string, { shared, expiresAt }: Answer<Value>): void {
    if (shared === undefined) this.#unshare(key);
    else this.#store?.answers.set(this.#store.kind, key, shared, expiresAt);
  }

  #unshare(key: string): void {
    this.#store?.answers.delete(this.#store.kind, key);
  }
}
