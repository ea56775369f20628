import type { Clock } from '../../core/lib/clock.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { Revocation, RevokedTokens } from './revoked.ts';
import { type KeepResult, type LeaseHolder, type LeaseState, MAX_REVOCATIONS, type RevocationPlace } from './place.ts';
import { createScript, type Script, type Sealing, type StoreConnection, StoreError } from '../../ports/store.ts';
import { isRevocation, revokedKey } from './revocation-index.ts';
import {
  keepScript,
  leaseScript,
  MAX_BYTES,
  newestScript,
  placedScript,
  removeScript,
  valuesScript,
} from './revocation-scripts.ts';

/** How often a replica compares a page of what it knows with the store: a writer of it could have removed some. */
const COMPARE_MS = 1_000;
/** How often a replica asks whether others have kept revocations. Much less than the second that is promised. */
const FOLLOW_MS = 200;
const PAGE = 500;
/** The end of what is never forgotten, in milliseconds since the epoch: the year 2100. */
const NEVER_MS = 4_102_444_800_000;
/** How long the news of dropped caches live: longer than any replica is unavailable and keeps its caches. */
const DROPPED_MS = 60_000;
/** In one slot of a cluster, since one step needs all of them. */
const KIND = '{revocations}';

/** What a lease holds, sealed: a foreign value must not keep replicas from polling. */
interface Lease extends LeaseHolder {
  /** By the clock of its holder, in milliseconds since the epoch. */
  readonly at: number;
}

/** How old a lease may be that was put back, and how far the clocks of replicas may differ. */
const RECENT_MS = 60_000;

/** The parts of a store of revocations. */
export interface RevocationStoreParts {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly clock: Clock;
  readonly keepMs: () => number;
  readonly max?: number | undefined;
  /** Called with what this and other replicas keep, and when all of it is known for the first time. */
  readonly onNews: (revocations: readonly Revocation[], dropped: readonly RevokedTokens[]) => void;
  readonly onComplete: () => void;
  /** What this replica knows, for a store that has lost it. */
  readonly known: () => Iterable<Revocation>;
  /** Whether an operator withdrew exactly this revocation. */
  readonly isLifted: (revocation: Revocation) => boolean;
  readonly onCorrupt: (place: string) => void;
}

/** The revocations that replicas share. Each has an order in the store, by which a replica reads what it has missed. */
export class RevocationStore implements RevocationPlace {
  readonly #parts: RevocationStoreParts;
  readonly #entries: string;
  readonly #keys: readonly [string, ...string[]];
  readonly #keepAll: Script;
  readonly #lease: Script;
  /** The leases that this replica has, as they are sealed. */
  readonly #leases = new Map<string, string>();
  readonly #newest: Script;
  readonly #values: Script;
  readonly #remove: Script;
  readonly #placed: Script;
  readonly #timers: readonly NodeJS.Timeout[];
  #read = 0;
  /** The server that it was read from. */
  #primary: string | undefined;
  #isComplete = false;
  #following: Promise<void> | undefined;
  #comparing: Promise<void> | undefined;
  /** What is left of a comparison. */
  #uncompared: Iterator<Revocation> | undefined;

  constructor(parts: RevocationStoreParts) {
    this.#parts = parts;
    const place = (name: string): string => parts.sealing.place(KIND, name);
    this.#entries = place('entries');
    this.#keys = [this.#entries, place('order'), place('arrivals'), place('counter')];
    this.#keepAll = createScript(parts.connection, 'set', keepScript);
    this.#newest = createScript(parts.connection, 'get', newestScript);
    this.#values = createScript(parts.connection, 'get', valuesScript);
    this.#lease = createScript(parts.connection, 'set', leaseScript);
    this.#remove = createScript(parts.connection, 'set', removeScript);
    this.#placed = createScript(parts.connection, 'get', placedScript);
    this.#timers = [
      setInterval(() => void this.follow(), FOLLOW_MS).unref(),
      setInterval(() => void this.compare(), COMPARE_MS).unref(),
    ];
  }

  /**
   * Keeps the revocations of an event, in one step for all replicas.
   *
   * @throws {StoreError} while the store is unavailable: it may be kept or not, and must be sent again.
   */
  async keep(revocations: readonly Revocation[], id?: string): Promise<KeepResult> {
    const result = await this.#keep(revocations, id);
    if (result === 'full') await this.follow();
    return result;
  }

  async drop(dropped: readonly RevokedTokens[], id?: string): Promise<KeepResult> {
    const now = this.#parts.clock();
    const goneAt = now - this.#parts.keepMs() + DROPPED_MS;
    // In milliseconds: the next one for the same tokens is news again.
    const entries = dropped.map((tokens) => [{ ...tokens, at: Math.floor(now), arrivedAt: 0 }, goneAt] as const);
    return this.#put(entries, id);
  }

  async lease(name: string, holder: LeaseHolder, forMs: number): Promise<LeaseState> {
    const { sealing, clock, onCorrupt } = this.#parts;
    const place = sealing.place(KIND, `lease ${name}`);
    const own: Lease = { ...holder, at: clock() };
    const sealed = sealing.seal(place, JSON.stringify(own));
    const take = async (expected: string): Promise<unknown> => this.#lease([place], [expected, sealed, String(forMs)]);
    const found = await take(this.#leases.get(name) ?? '');
    if (typeof found === 'string' && found !== '') {
      const text = sealing.open(place, found);
      const lease = text === undefined ? undefined : (JSON.parse(text) as Lease);
      const isRecent = lease !== undefined && Math.abs(own.at - lease.at) <= RECENT_MS;
      if (isRecent && lease.id !== holder.id) return { isHeld: false, polledAt: lease.polledAt };
      if (!isRecent) onCorrupt(place);
    }
    if (found !== 1 && (await take(String(found))) !== 1) return { isHeld: false, polledAt: undefined };
    this.#leases.set(name, sealed);
    return { isHeld: true, polledAt: holder.polledAt };
  }

  /** Reads what is new. Never rejects. */
  follow(): Promise<void> {
    this.#following ??= this.#readNews()
      .catch(ignoreStoreError)
      .finally(() => (this.#following = undefined));
    return this.#following;
  }

  /** Compares the next page of what is known with the store, and keeps again what it lacks. Never rejects. */
  compare(): Promise<void> {
    this.#comparing ??= this.#compareNext()
      .catch(ignoreStoreError)
      .finally(() => (this.#comparing = undefined));
    return this.#comparing;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#following, this.#comparing]);
  }

  #keep(revocations: readonly Revocation[], id?: string): Promise<KeepResult> {
    return this.#put(
      revocations.map((revocation) => [revocation, revocation.arrivedAt * 1000] as const),
      id,
    );
  }

  async #put(entries: readonly (readonly [Revocation, number])[], id: string | undefined): Promise<KeepResult> {
    const { sealing, clock, keepMs, isLifted, max = MAX_REVOCATIONS } = this.#parts;
    const values = entries.flatMap(([revocation, arrivedMs]) => {
      const { issuer, at, arrivedAt, lifted, blocks } = revocation;
      const every: Revocation = { issuer, at: revocation.token === undefined ? at : arrivedAt, arrivedAt };
      // A withdrawal must not end all tokens.
      const all = lifted === undefined ? every : revocation;
      return [
        this.#fieldOf(revocation),
        String(at),
        String(blocks === true ? NEVER_MS : arrivedMs),
        this.#valueOf(revocation),
        this.#fieldOf(all),
        this.#valueOf(all),
      ];
    });
    const event = sealing.place(KIND, `event ${id ?? ''}`);
    const put = async (idMs: string): Promise<readonly string[]> => {
      const lifeMs = entries.some(([{ blocks }]) => blocks === true) ? NEVER_MS - clock() : keepMs() + DROPPED_MS;
      const bounds = [String(max), String(clock() - keepMs()), String(lifeMs), idMs];
      return (await this.#keepAll([...this.#keys, event], [...bounds, ...values])) as readonly string[];
    };
    const [result, ...before] = await put(id === undefined ? '' : String(keepMs()));
    const foreign: string[] = [];
    for (let index = 0; index < before.length; index += 2) {
      const [field = '', value = ''] = before.slice(index, index + 2);
      const kept = this.#opened(field, value);
      // One that was lifted must not stand in the place of the new one.
      if (kept === undefined || isLifted(kept)) foreign.push(field, value);
    }
    if (foreign.length > 0) {
      await this.#remove([this.#entries], foreign);
      await put('');
    }
    return result as KeepResult;
  }

  #fieldOf(revocation: Revocation): string {
    // The news of a dropped cache must not take the place of a revocation.
    return this.#parts.sealing.place(revocation.arrivedAt === 0 ? 'dropped' : 'revoked', revokedKey(revocation));
  }

  #valueOf(revocation: Revocation): string {
    const sealed = this.#parts.sealing.seal(this.#fieldOf(revocation), JSON.stringify(revocation));
    return `${revocation.at} ${sealed}`;
  }

  async #readNews(): Promise<void> {
    const { connection, onComplete, onCorrupt } = this.#parts;
    const [, order = '', , counter = ''] = this.#keys;
    const primary = connection.serverOf(counter);
    const [newest, foreign] = (await this.#newest(this.#keys, [])) as readonly [number, number];
    if (foreign > 0) onCorrupt(this.#entries);
    if (newest < this.#read || (this.#read > 0 && primary !== this.#primary)) {
      // Another primary, or an empty one, which lacks what the last one had not passed on: its numbers mean others.
      this.#read = 0;
      await this.#restore();
    }
    this.#primary = primary;
    while (this.#read < newest) {
      const from = `(${this.#read}`;
      const page = { BY: 'SCORE', LIMIT: { offset: 0, count: PAGE } } as const;
      const members = await connection.run('get', order, (client) =>
        client.zRangeWithScores(order, from, '+inf', page),
      );
      const last = members.at(-1);
      if (last === undefined) {
        this.#read = newest;
        break;
      }
      const fields = members.map(({ value }) => value);
      const values = (await this.#values([this.#entries], fields)) as readonly (string | null)[];
      this.#take(fields, values);
      this.#read = last.score;
    }
    if (this.#isComplete) return;
    this.#isComplete = true;
    onComplete();
  }

  #take(fields: readonly string[], values: readonly (string | null)[]): void {
    const revocations: Revocation[] = [];
    const dropped: RevokedTokens[] = [];
    for (const [index, field] of fields.entries()) {
      const value = values[index];
      // Replaced or forgotten since the page was read.
      if (typeof value !== 'string') continue;
      const revocation = this.#opened(field, value);
      if (revocation?.arrivedAt === 0) dropped.push(revocation);
      else if (revocation !== undefined) revocations.push(revocation);
    }
    this.#parts.onNews(revocations, dropped);
  }

  #opened(field: string, value: string): Revocation | undefined {
    const [, at = '', sealed = ''] = (value.length < MAX_BYTES ? /^([0-9]+) (.+)$/s.exec(value) : null) ?? [];
    const text = this.#parts.sealing.open(field, sealed);
    const revocation = text === undefined ? undefined : parsedJson(text);
    if (isRevocation(revocation) && String(revocation.at) === at) return revocation;
    this.#parts.onCorrupt(field);
    return undefined;
  }

  async #compareNext(): Promise<void> {
    const { clock, keepMs } = this.#parts;
    const [, order = ''] = this.#keys;
    const oldest = (clock() - keepMs()) / 1000;
    const page: Revocation[] = [];
    this.#uncompared ??= this.#parts.known()[Symbol.iterator]();
    while (page.length < PAGE) {
      const next = this.#uncompared.next();
      if (next.done === true) {
        this.#uncompared = undefined;
        break;
      }
      if (next.value.arrivedAt > oldest || next.value.blocks === true) page.push(next.value);
    }
    if (page.length === 0) return;
    const fields = page.map((revocation) => this.#fieldOf(revocation));
    const [values, places] = await Promise.all([
      this.#values([this.#entries], fields) as Promise<readonly (string | null)[]>,
      this.#placed([order], fields) as Promise<readonly number[]>,
    ]);
    const lost = page.filter(({ at }, index) => {
      const value = values[index];
      if (typeof value !== 'string' || places[index] !== 1) return true;
      const kept = this.#opened(fields[index] ?? '', value);
      return kept === undefined || kept.at < at;
    });
    if (lost.length > 0) await this.#keep(lost);
  }

  async #restore(): Promise<void> {
    const all = [...this.#parts.known()];
    for (let start = 0; start < all.length; start += PAGE) {
      // Pages, so that no step of the store is long.
      await this.#keep(all.slice(start, start + PAGE));
    }
  }
}

/** What is known goes on. */
function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}
