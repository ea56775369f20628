/** @module What the replicas of a gateway share: through a store, or, for a single replica, in its memory. */

import type { Call } from '../core/model/call.ts';

/** Answers of authorization servers, shared by all replicas. */
export interface SharedAnswers {
  /** The answer; undefined if there is none, if it has expired, or without the store. Never rejects. */
  get(kind: AnswerKind, key: string): Promise<KeptAnswer | undefined>;
  /** Keeps a JSON value until `expiresAt` (ms since the epoch); the request does not wait for it. Never throws. */
  set(kind: AnswerKind, key: string, answer: unknown, expiresAt: number): void;
  /**
   * Deletes it for all replicas; the request does not wait. While the store is unavailable, the answer stays until it
   * expires.
   */
  delete(kind: AnswerKind, key: string): void;
}

/** What an answer is about. */
export type AnswerKind = 'introspection' | 'exchange';

/** An answer that a replica kept. It is as trustworthy as the authorization server that gave it, and no more. */
export interface KeptAnswer {
  readonly answer: unknown;
  /** Milliseconds since the epoch; no replica may use it longer. */
  readonly expiresAt: number;
}

/** A replay cache: remembers values that may be used only once. */
export interface ReplayMemory {
  /**
   * Whether `key` is new. It is remembered until `expiresAt` (ms since the epoch).
   *
   * @param owner The caller that uses it. Each owner is limited to a share, so that one cannot fill the cache.
   *
   * @throws {Denial} `shared_store.unavailable` while the store is unavailable and `on_store_failure` is `closed`, and
   *   if the cache is full.
   */
  firstSeen(key: string, expiresAt: number, owner: string): boolean | Promise<boolean>;
}

/** The replay cache of one process, which answers synchronously. */
export interface LocalReplayMemory extends ReplayMemory {
  firstSeen(key: string, expiresAt: number, owner: string): boolean;
}

/** The state of the store, for `/readyz`. */
export interface StoreState {
  readonly state: 'available' | 'unavailable';
  /** Why, while it is unavailable. */
  readonly problem?: string;
}

/** A token that the gateway cannot verify itself: it has to ask authorization servers. */
export interface TokenQuestion {
  /** The call that presents it. */
  readonly call: Call;
  /** The issuers of the servers that the gateway asks, joined by spaces. */
  readonly servers: string;
  /** SHA-256 of the token. */
  readonly token: string;
}

/** The limit on invalid tokens, which slows down guessing. */
export interface Failures {
  /**
   * Runs `work`, which asks about an unknown token. An address has no more questions in flight at the same servers than
   * tokens that may still be refused. Further questions wait.
   *
   * @throws {Denial} `failures.exceeded` for an address that exceeds the limit, before anything is asked; and what
   *   `work` throws.
   */
  guard<Value>(question: TokenQuestion, work: () => Promise<Value>): Promise<Value>;
}
