import { expect } from 'vitest';
import { createSharedStore } from '../../../src/front-door/shared-store.ts';
import type { Store } from '../../../src/front-door/store.ts';
import type { Clock } from '../../../src/core/lib/clock.ts';
import type { Revocation } from '../../../src/capabilities/revocation/revoked.ts';
import type { StoreObserver, StoreOperation, StoreResult } from '../../../src/core/model/events.ts';
import { createBook } from '../../../src/capabilities/approvals/opened.ts';
import { createLedger } from '../../../src/capabilities/history/process-ledger.ts';
import type { Ledger } from '../../../src/policy-parts/history/ledger.ts';
import type { ApprovalBook, ApprovalBounds } from '../../../src/capabilities/approvals/book.ts';
import { SharedApprovals } from '../../../src/capabilities/approvals/stored-approvals.ts';
import { connectStore } from '../../../src/capabilities/shared-store/connection.ts';
import { LONG_COMMAND_MS, type LogStore, type StoreConnection, type StoreSettings } from '../../../src/ports/store.ts';
import { createReplayMemory } from '../../../src/tokens/replay-memory.ts';
import { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import { type RevocationListener, revocationsFor } from '../../../src/tokens/revoked-tokens.ts';
import { openStore } from '../../../src/capabilities/shared-store/store.ts';
import { createSealing } from '../../../src/capabilities/shared-store/sealing.ts';
import { createShared, type Shared } from '../../../src/serve/shared.ts';
import { startRedis, type Redis } from '../../support/redis.ts';

/** The session key of the replicas. */
export const KEY = 'k3y-of-at-least-thirty-two-characters';
export const sealing = createSealing(KEY);

/** The events of a store, for which a test can wait. */
export interface Told {
  readonly observer: StoreObserver;
  readonly log: LogStore;
  /** `operation result`, in order. */
  readonly requests: string[];
  readonly lines: {
    readonly level: string;
    readonly msg: string;
    readonly problem?: unknown;
    readonly key?: unknown;
  }[];
  /** Resolves when the store is up, or down; at once if it is. */
  until(up: boolean): Promise<void>;
}

/** Listens. */
export function listener(): Told {
  const requests: string[] = [];
  const lines: Told['lines'] = [];
  let up: boolean | undefined;
  let waiting: { readonly for: boolean; readonly resolve: () => void }[] = [];
  return {
    requests,
    lines,
    log: (level, msg, fields) => void lines.push({ level, msg, ...fields }),
    observer: {
      storeUp(now) {
        up = now;
        for (const each of waiting) if (each.for === now) each.resolve();
        waiting = waiting.filter((each) => each.for !== now);
      },
      storeRequest: (operation: StoreOperation, result: StoreResult) => void requests.push(`${operation} ${result}`),
    },
    until(wanted) {
      if (up === wanted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ for: wanted, resolve });
      return promise;
    },
  };
}

/** How to close what a test has opened. */
export const opened: (() => Promise<void>)[] = [];

/** Closes it, the last first. Each file calls it after each of its tests: this one is loaded once for all of them. */
export async function closeOpened(): Promise<void> {
  for (const close of opened.splice(0).toReversed()) await close();
}

/** A store with options of its own. */
export async function redisWith(...options: string[]): Promise<Redis> {
  const redis = await startRedis(options);
  opened.push(() => redis.close());
  return redis;
}

/** The timeout of a command where a busy machine must not look like a store that is away. */
export const PATIENT_MS = 5_000;

/** A connection to the store at `url`. */
export function connected(url: string, told: Told, commandMs?: number): StoreConnection {
  const connection = connectStore(url, { observer: told.observer, log: told.log, commandMs });
  opened.push(() => connection.close());
  return connection;
}

/** The same, once the store is up, and what it told. */
export async function available(url: string, commandMs?: number) {
  const told = listener();
  const connection = connected(url, told, commandMs);
  await told.until(true);
  return { connection, told };
}

/** What is wrong with the store at a URL: said in one line, without a word of its passwords. */
export async function problemAt(url: string): Promise<string | undefined> {
  const told = listener();
  const connection = connected(url, told);
  await expect.poll(() => told.lines, { timeout: 10_000 }).toHaveLength(1);
  expect(JSON.stringify([told.lines, connection.state()])).not.toContain('s3cr3t');
  return connection.state().problem;
}

/** A replica, with what it counts and keeps. */
export interface Replica extends Shared {
  readonly ledger: Ledger;
  readonly approvals: ApprovalBook;
  readonly connection: () => StoreConnection | undefined;
}

/** What a replica counts and keeps beside what it shares. */
function replicaOf(shared: Shared, clock: Clock = Date.now): Replica {
  const ledger = createLedger(shared.store);
  const approvals = createBook(shared.store, clock);
  return { ...shared, ledger, approvals, connection: () => shared.store()?.connection };
}

/** A replica of the gateway on the store at `url`, once it is up. With `revocations` it listens to the front door. */
export async function replicaAt(
  url: string,
  told: Told = listener(),
  {
    onFailure = 'closed',
    revocations,
    commandMs,
    key = KEY,
    clock = Date.now,
  }: {
    readonly onFailure?: StoreSettings['onFailure'];
    readonly revocations?: RevocationListener;
    readonly commandMs?: number;
    /** Its session key. */
    readonly key?: string;
    readonly clock?: Clock;
  } = {},
): Promise<Replica> {
  const shared = createShared(told.observer, told.log, clock, {
    commandMs,
    subscription: async () => revocations && revocationsFor(revocations),
  });
  opened.push(() => shared.close());
  (await shared.prepare({ url, onFailure }, key, revocations !== undefined)).use();
  await told.until(true);
  return replicaOf(shared, clock);
}

/** A replica that hears of the revoked tokens of the front door. */
export async function hearingAt(url: string, heard: string[], told: Told = listener()): Promise<void> {
  const listening = Promise.withResolvers<void>();
  const onRevoked = (digests: readonly string[]): void => void heard.push(...digests);
  await replicaAt(url, told, { revocations: { onRevoked, onMissed: listening.resolve } });
  await listening.promise;
}

/** The records of a front door in the store at `url`, once it answers. */
export async function frontDoorAt(url: string, clock: Clock = Date.now): Promise<Store> {
  const log = (): void => {};
  const shared = openStore({ url, onFailure: 'closed' }, { sessionKey: KEY, log, clock, commandMs: LONG_COMMAND_MS });
  const store = createSharedStore(shared, { log, clock });
  opened.push(() => store.close());
  await expect.poll(async () => store.get('Visit', '').catch(() => 'away')).toBeUndefined();
  return store;
}

/** A replica's part of the revocations that are shared, and those that it knows, by their subject. */
export function revocationsAt(
  connection: StoreConnection,
  onCorrupt = (place: string): void => {
    throw new Error(place);
  },
) {
  const known = new Map<string, Revocation>();
  const store = new RevocationStore({
    connection,
    sealing,
    clock: Date.now,
    keepMs: () => 600_000,
    onNews(news) {
      for (const revocation of news) known.set(revocation.subject ?? '', revocation);
    },
    onComplete() {},
    isLifted: () => false,
    known: () => known.values(),
    onCorrupt,
  });
  opened.push(() => store.close());
  return { store, known };
}

/** A revocation of all that a subject has until now. */
export function revocationOf(subject: string): Revocation {
  const arrivedAt = Math.floor(Date.now() / 1000);
  return { issuer: 'https://as', subject, at: arrivedAt, arrivedAt };
}

/** The book of one replica. `corrupt` gets the places at which a foreign value was found. */
export function approvalsAt(
  connection: StoreConnection,
  { bounds, clock = Date.now, corrupt = [] }: { bounds?: ApprovalBounds; clock?: Clock; corrupt?: string[] } = {},
): SharedApprovals {
  const onCorrupt = (place: string): void => void corrupt.push(place);
  const spent = createReplayMemory(clock);
  return new SharedApprovals({ connection, sealing, clock, spent, onCorrupt, ...(bounds && { bounds }) });
}
