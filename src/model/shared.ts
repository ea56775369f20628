/** What the replicas of a gateway know together; where there is only one, in its memory. */

/** Answers of authorization servers that another replica has had already. */
export interface SharedAnswers {
  /** What was kept under `key`; undefined where nothing was, where it has ended, and while the store is away. Never rejects. */
  get(kind: AnswerKind, key: string): Promise<KeptAnswer | undefined>;
  /** Keeps a JSON value until `expiresAt` (ms since the epoch), behind the request. Never throws. */
  set(kind: AnswerKind, key: string, answer: unknown, expiresAt: number): void;
  /** Forgets it for all replicas, behind the request. While the store is away it stays there until it ends by itself. */
  delete(kind: AnswerKind, key: string): void;
}

/** What an answer is about. */
type AnswerKind = 'introspection' | 'exchange';

/** An answer that a replica kept. It comes from outside the process: as trustworthy as the one who answered, no more. */
export interface KeptAnswer {
  readonly answer: unknown;
  /** Milliseconds since the epoch; nobody may use it longer. */
  readonly expiresAt: number;
}

/** Remembers what may be used once only. */
export interface ReplayMemory {
  /**
   * Whether `key` comes for the first time; it is remembered until `expiresAt` (ms since the epoch).
   *
   * @param owner Who uses it: nobody may take up the memory of all others.
   *
   * @throws {Denial} `shared_store.unavailable` while the store is away and `on_store_failure` is `closed`, and where
   *   no more can be remembered.
   */
  firstSeen(key: string, expiresAt: number, owner: string): boolean | Promise<boolean>;
}

/** How the store is, for `/readyz`. */
export interface StoreState {
  readonly state: 'available' | 'unavailable';
  /** Why, while it is unavailable. */
  readonly problem?: string;
}

/** What the store is asked for; the label `operation` in metrics. */
export type StoreOperation = 'get' | 'set' | 'delete' | 'replay' | 'rate' | 'probe';

/** What came of it: `corrupt` is a value that no replica wrote, `away` a question that was not asked. */
export type StoreResult = 'ok' | 'hit' | 'miss' | 'corrupt' | 'error' | 'away';

/** What is told of the store. */
export interface StoreObserver {
  /** The store has come or gone; undefined: none is configured. */
  storeUp(up: boolean | undefined): void;
  storeRequest(operation: StoreOperation, result: StoreResult): void;
}
