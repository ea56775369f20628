import { hash } from 'node:crypto';
import type { Clock } from '../../core/lib/clock.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { identityOf, type Revocation, type RevocationNews, type RevokedTokens } from './revoked.ts';
import { type LeaseHolder, type LeaseState, memoryPlace, type RevocationPlace, type RevocationRoom } from './place.ts';
import { type KeptEvent, RevocationFile } from './revocation-file.ts';
import type { RevocationIndex } from './revocation-index.ts';

/** An event to keep. */
export interface NewEvent {
  readonly tokens: readonly RevokedTokens[];
  /** The time of the event in seconds; undefined: only what is cached is dropped. */
  readonly at: number | undefined;
  /** The source of the event, its issuer and its `jti`; undefined: it is never repeated. */
  readonly id: readonly string[] | undefined;
}

/** The parts of a keeper. */
export interface KeeperParts {
  readonly clock: Clock;
  readonly index: RevocationIndex;
  readonly keepMs: number;
  /** Of each issuer. */
  readonly room: RevocationRoom;
  readonly frontDoorIssuer?: string | undefined;
  /** Called with what other processes have to learn. */
  readonly onNews: (news: RevocationNews) => void;
  /** Called when an issuer has no room left, and all its tokens were revoked. */
  readonly onFull: (issuer: string) => void;
}

/**
 * Bounds memory and the store; the oldest is forgotten first. A repetition that is not noticed revokes what is revoked
 * already.
 */
const MAX_IDS = 100_000;

/** Keeps revocations: in this process first, so that they hold at once, then where a restart finds them. */
export class Keeper {
  readonly #parts: KeeperParts;
  /** The ids of events, with their arrival in seconds. */
  readonly #ids = new Map<string, number>();
  #place: RevocationPlace = memoryPlace;
  /** A client that is revoked there is blocked too; undefined: there is no front door. */
  frontDoorIssuer: string | undefined;
  #keepMs: number;
  #room: RevocationRoom;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#keepMs = parts.keepMs;
    this.#room = parts.room;
    this.frontDoorIssuer = parts.frontDoorIssuer;
    parts.index.keepFor(parts.keepMs);
  }

  get keepMs(): number {
    return this.#keepMs;
  }

  set keepMs(keepMs: number) {
    this.#keepMs = keepMs;
    this.#parts.index.keepFor(keepMs);
  }

  get room(): RevocationRoom {
    return this.#room;
  }

  set room(room: RevocationRoom) {
    this.#room = room;
  }

  /** Keeps in `file` from now on. Returns how many bytes of its end were no whole line. */
  async useFile(path: string): Promise<number> {
    const { file, events, cutBytes } = await RevocationFile.open(path, () => this.#remembered());
    for (const { revocations, id, arrivedAt } of events) {
      this.#parts.index.add(revocations);
      if (id !== undefined) this.#remember(id, arrivedAt);
    }
    this.#place = file;
    return cutBytes;
  }

  /** Keeps in `place` from now on. */
  use(place: RevocationPlace): void {
    this.#place = place;
  }

  /**
   * Keeps an event. Resolves when it will be found after a restart, where there is a place for it.
   *
   * @param onKept Called with its revocations once they hold here.
   * @throws the error of the file or the store. The revocation holds here, and has to be sent again.
   */
  async keep(
    { tokens, at, id }: NewEvent,
    onKept?: (revocations: readonly Revocation[]) => void,
  ): Promise<'kept' | 'repeated'> {
    const now = Math.floor(this.#parts.clock() / 1000);
    const key = id && hash('sha256', lengthPrefixed(id), 'base64url');
    if (key !== undefined && this.#knows(key)) return 'repeated';
    if (at === undefined) return this.#drop(tokens, key, now);
    // Never later than now: a transmitter with a wrong clock must not refuse tokens that are yet to be issued.
    const time = Math.max(0, Math.min(Math.floor(at), now));
    const revocations = this.#withinRoom(tokens.map((each) => this.#revocationOf(each, time, now)));
    this.take({ revocations, dropped: [] });
    onKept?.(revocations);
    const result = await this.#persist(revocations, this.#keptId(key), now);
    if (key !== undefined) this.#remember(key, now);
    return result;
  }

  /**
   * Withdraws a revocation. Resolves when that will be found after a restart.
   *
   * @throws the error of the file or the store. The revocation is withdrawn here until a restart.
   */
  async lift(revocation: Revocation): Promise<void> {
    const { issuer, at, blocks } = revocation;
    const now = Math.floor(this.#parts.clock() / 1000);
    const lift: Revocation = {
      issuer,
      lifted: identityOf(revocation),
      at,
      arrivedAt: now,
      ...(blocks === true && { blocks }),
    };
    this.take({ revocations: [lift], dropped: [] });
    await this.#place.keep([lift], undefined, now);
  }

  #revocationOf(tokens: RevokedTokens, at: number, now: number): Revocation {
    const { issuer, subject, client } = tokens;
    const isBlock = issuer === this.frontDoorIssuer && client !== undefined && subject === undefined;
    const revocation: Revocation = { ...tokens, at, arrivedAt: now, ...(isBlock && { blocks: true }) };
    // One of the same second as a lifted one is another one.
    return this.#parts.index.isLifted(revocation) ? { ...revocation, arrivedAt: now + 1 } : revocation;
  }

  /** {@link RevocationPlace.lease}. Rejects while the place is unavailable. */
  lease(name: string, holder: LeaseHolder, forMs: number): Promise<LeaseState> {
    return this.#place.lease(name, holder, forMs);
  }

  take(news: RevocationNews): void {
    const changed = this.#parts.index.add(news.revocations);
    if (changed > 0 || news.dropped.length > 0) this.#parts.onNews(news);
  }

  async close(): Promise<void> {
    await this.#place.close();
  }

  async #drop(dropped: readonly RevokedTokens[], key: string | undefined, now: number): Promise<'kept' | 'repeated'> {
    this.take({ revocations: [], dropped });
    if ((await this.#place.drop(dropped, this.#keptId(key))) === 'repeated') return 'repeated';
    if (key !== undefined) this.#remember(key, now);
    return 'kept';
  }

  async #persist(
    revocations: readonly Revocation[],
    id: string | undefined,
    now: number,
  ): Promise<'kept' | 'repeated'> {
    const result = await this.#place.keep(revocations, id, now);
    if (result !== 'full') return result;
    for (const { issuer } of revocations) this.#parts.onFull(issuer);
    return 'kept';
  }

  /** Without room, a further one becomes one of all tokens of its issuer. No other one is forgotten. */
  #withinRoom(revocations: readonly Revocation[]): readonly Revocation[] {
    return revocations.map((revocation) => {
      if (!this.#parts.index.isFullFor(revocation, this.#room)) return revocation;
      const { issuer, at, arrivedAt, token } = revocation;
      const all = { issuer, at: token === undefined ? at : arrivedAt, arrivedAt };
      this.#tellFull(all);
      return all;
    });
  }

  /** Once for each second in which all tokens of an issuer end: a source sends thousands. */
  #tellFull({ issuer, at }: Revocation): void {
    const ended = this.#parts.index.get({ issuer });
    if (ended === undefined || ended.at < at) this.#parts.onFull(issuer);
  }

  #knows(key: string): boolean {
    const arrivedAt = this.#ids.get(key);
    return arrivedAt !== undefined && arrivedAt * 1000 + this.#keepMs > this.#parts.clock();
  }

  #remember(key: string, arrivedAt: number): void {
    this.#ids.delete(key);
    this.#ids.set(key, arrivedAt);
    for (const oldest of this.#ids.keys()) {
      if (this.#ids.size <= MAX_IDS && this.#knows(oldest)) break;
      this.#ids.delete(oldest);
    }
  }

  /** Without room for more ids, only this process remembers them. */
  #keptId(key: string | undefined): string | undefined {
    return this.#ids.size < MAX_IDS ? key : undefined;
  }

  /** The events of a file that is written anew. */
  #remembered(): readonly KeptEvent[] {
    const ids = [...this.#ids].filter(([key]) => this.#knows(key));
    return [
      ...Array.from(this.#parts.index.all(), (revocation) => ({
        revocations: [revocation],
        arrivedAt: revocation.arrivedAt,
      })),
      ...ids.map(([id, arrivedAt]) => ({ revocations: [], id, arrivedAt })),
    ];
  }
}
