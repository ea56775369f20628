/** What the replicas of a gateway know together; where there is only one, in its memory. */

/** Answers of authorization servers that another replica has had already. */
export interface SharedAnswers {
  /** What was kept under `key`; undefined where nothing was, where it has ended, and while the store is away. Never rejects. */
  get(kind: AnswerKind, key: string): Promise<unknown>;
  /** Keeps a JSON value until `expiresAt` (ms since the epoch), behind the request. Never throws. */
  set(kind: AnswerKind, key: string, answer: unknown, expiresAt: number): void;
  delete(kind: AnswerKind, key: string): void;
}

/** What an answer is about. */
export type AnswerKind = 'introspection' | 'exchange';

/** Remembers what may be used once only. */
export interface ReplayMemory {
  /**
   * Whether `key` comes for the first time; it is remembered until `expiresAt` (ms since the epoch).
   *
   * @throws {Denial} `shared_store.unavailable` while the store is away and `on_store_failure` is `closed`.
   */
  firstSeen(key: string, expiresAt: number): boolean | Promise<boolean>;
}

/** How the store is, for `/readyz`. */
export interface StoreState {
  readonly state: 'available' | 'unavailable';
  /** Why, while it is unavailable. */
  readonly problem?: string;
}
