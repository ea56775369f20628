import { type Clock, Deadline } from '../../lib/clock.ts';
import { createExpiringCache, type ExpiringCache } from '../../lib/expiring-cache.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { CallRight, Grant, HeldToken, PresentedToken, RefusedToken } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';

/** The streams that are open, so that a new configuration can decide on each again. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
}

/** Bounds the memory that callers can fill, of tokens that were accepted, and as much of others. */
const MAX_REFUSALS = 20_000;
/** How long a refusal is remembered, for streams whose upstream has not answered yet. */
const REFUSAL_MS = 10 * 60_000;

interface Refusal {
  readonly reason: RefusedToken['reason'];
  readonly at: number;
}

/** All open streams of the process, and the refusals of their tokens. */
export class StreamIndex implements OpenStreams {
  readonly #keyOf: (token: PresentedToken) => string;
  readonly #clock: Clock;
  readonly #open = new Set<OpenStream>();
  readonly #byToken = new Map<string, Set<OpenStream>>();
  readonly #refusals: ExpiringCache<Refusal>;
  /** Apart, so that no flood of made-up tokens pushes out the refusal of one whose call is under way. */
  readonly #ofMadeUp: ExpiringCache<Refusal>;

  /** @param keyOf The key of a token, as {@link RefusedToken.key}. */
  constructor(keyOf: (token: PresentedToken) => string, clock: Clock) {
    this.#keyOf = keyOf;
    this.#clock = clock;
    this.#refusals = createExpiringCache(MAX_REFUSALS, clock);
    this.#ofMadeUp = createExpiringCache(MAX_REFUSALS, clock);
  }

  add(stream: OpenStream): void {
    this.#open.add(stream);
    if (stream.held === undefined) return;
    const key = this.#keyOf(stream.held.token);
    const others = this.#byToken.get(key);
    if (others === undefined) this.#byToken.set(key, new Set([stream]));
    else others.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
    if (stream.held === undefined) return;
    const key = this.#keyOf(stream.held.token);
    const same = this.#byToken.get(key);
    same?.delete(stream);
    if (same?.size === 0) this.#byToken.delete(key);
  }

  /** Those that are open, also while they are iterated. */
  all(): Iterable<OpenStream> {
    return this.#open.values();
  }

  /** Remembers that a token was refused, and returns its open streams. A stream that opens later asks `refusalOf`. */
  refuse({ key, issuers, reason, isMadeUp }: RefusedToken): readonly OpenStream[] {
    const memory = isMadeUp ? this.#ofMadeUp : this.#refusals;
    const refusal = { reason, at: performance.now() };
    for (const issuer of issuers) memory.set(placeOf(key, issuer), refusal, this.#clock() + REFUSAL_MS);
    return [...(this.#byToken.get(key) ?? [])].filter(
      ({ grant: { principal } }) => principal !== undefined && issuers.includes(principal.issuer),
    );
  }

  /** Why the token of a call was refused since that arrived; undefined if it was not. */
  refusalOf({ call, grant: { principal }, held }: CallRight): RefusedToken['reason'] | undefined {
    if (held === undefined || principal === undefined) return undefined;
    const place = placeOf(this.#keyOf(held.token), principal.issuer);
    const last = [this.#refusals.get(place), this.#ofMadeUp.get(place)];
    return last.find((refusal) => refusal !== undefined && refusal.at >= call.startedAt)?.reason;
  }
}

/** The same text may be a different token at another authorization server, whose refusal says nothing of this one. */
function placeOf(key: string, issuer: string): string {
  return `${key} ${issuer}`;
}

type StreamParts = Pick<OpenStream, 'route' | 'call' | 'grant' | 'held' | 'isUpgrade' | 'end'>;

/** `revalidate` for a token without expiry: nothing else would end its streams. No setting disables it. */
const ENDLESS_REVALIDATE_MS = 30_000;

/**
 * An event stream, another answer without a length, or a WebSocket. It outlives the decision that opened it.
 *
 * It ends when its token expires. It also ends when the authorization server refuses the token, if the route has
 * `revalidate` or the token has no expiry. While the server is unavailable, the stream stays open until its token
 * expires.
 */
export class OpenStream {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
  /** Whether it is a WebSocket. */
  readonly isUpgrade: boolean;
  readonly end: (why: string) => void;
  readonly #streams: OpenStreams;
  /** In milliseconds since the epoch; `Infinity` for a token without expiry, and for a time beyond all milliseconds. */
  readonly #endsAt: number;
  readonly #expiry: Deadline;
  #timer: NodeJS.Timeout | undefined;
  #everyMs: number | undefined;
  #isStopped = false;

  /** Watches a stream from now on, and adds it to `streams`, until {@link stop}. */
  constructor({ route, call, grant, held, isUpgrade, end }: StreamParts, streams: OpenStreams, clock: Clock) {
    this.route = route;
    this.call = call;
    this.grant = grant;
    this.held = held;
    this.isUpgrade = isUpgrade;
    this.end = end;
    this.#streams = streams;
    this.#endsAt = (grant.principal?.expiresAt ?? Infinity) * 1000;
    this.revalidateEvery(route.revalidateMs);
    streams.add(this);
    this.#expiry = new Deadline(this.#endsAt, () => end('the token expired'), clock);
  }

  /**
   * Sets the interval at which the token is validated again; undefined validates only a token without expiry. An
   * unchanged interval keeps its timer, so that frequent reloads do not postpone a validation.
   */
  revalidateEvery(routeMs: number | undefined): void {
    const intervalMs = routeMs ?? (this.#endsAt === Infinity ? ENDLESS_REVALIDATE_MS : undefined);
    if (this.#isStopped || this.held === undefined || intervalMs === this.#everyMs) return;
    this.#everyMs = intervalMs;
    clearInterval(this.#timer);
    this.#timer = intervalMs === undefined ? undefined : setInterval(revalidate, intervalMs, this).unref();
  }

  /** Ends the watch. */
  stop(): void {
    this.#isStopped = true;
    this.#streams.delete(this);
    this.#expiry.cancel();
    clearInterval(this.#timer);
  }
}

function revalidate({ held, end }: OpenStream): void {
  held?.revalidate().catch((error: unknown) => {
    if (error instanceof Denial && error.reason === 'authorization_server.unavailable') return;
    end('the token was revoked');
  });
}
