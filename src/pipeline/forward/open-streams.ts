import type { Clock } from '../../lib/clock.ts';
import { atDeadline } from '../../lib/clock.ts';
import { createExpiringCache, type ExpiringCache } from '../../lib/expiring-cache.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Grant, HeldToken, PresentedToken, RefusedToken } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';

/** An event stream, another answer without a length, or a WebSocket. It outlives the decision that opened it. */
export interface OpenStream {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
  /** Whether it is a WebSocket. */
  readonly isUpgrade: boolean;
  readonly end: (why: string) => void;
  /** Sets the interval at which the token is validated again; undefined validates only a token without expiry. */
  readonly revalidateEvery: (intervalMs: number | undefined) => void;
}

/** The streams that are open, so that a new configuration can decide on each again. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
}

/** Bounds the memory that callers can fill. */
const MAX_REFUSALS = 20_000;
/** How long a refusal is remembered, for streams whose upstream has not answered yet. */
const REFUSAL_MS = 10 * 60_000;

/** All open streams of the process, and the refusals of their tokens. */
export class StreamIndex implements OpenStreams {
  readonly #keyOf: (token: PresentedToken) => string;
  readonly #clock: Clock;
  readonly #open = new Set<OpenStream>();
  readonly #byToken = new Map<string, Set<OpenStream>>();
  readonly #refusals: ExpiringCache<{ readonly refused: RefusedToken; readonly at: number }>;

  /** @param keyOf The key of a token, as {@link RefusedToken.key}. */
  constructor(keyOf: (token: PresentedToken) => string, clock: Clock) {
    this.#keyOf = keyOf;
    this.#clock = clock;
    this.#refusals = createExpiringCache(MAX_REFUSALS, clock);
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
  refuse(refused: RefusedToken): readonly OpenStream[] {
    this.#refusals.set(refused.key, { refused, at: performance.now() }, this.#clock() + REFUSAL_MS);
    return [...(this.#byToken.get(refused.key) ?? [])].filter((stream) => isOf(stream, refused));
  }

  /** The refusal of a stream's token since its request arrived; undefined if there was none. */
  refusalOf(stream: OpenStream): RefusedToken | undefined {
    const last = stream.held && this.#refusals.get(this.#keyOf(stream.held.token));
    if (last === undefined || last.at < stream.call.startedAt || !isOf(stream, last.refused)) return undefined;
    return last.refused;
  }
}

/** The same string may be a different token at another authorization server. */
function isOf({ grant: { principal } }: OpenStream, { issuers }: RefusedToken): boolean {
  return principal !== undefined && issuers.includes(principal.issuer);
}

/** `revalidate` for a token without expiry: nothing else would end its streams. No setting disables it. */
const ENDLESS_REVALIDATE_MS = 30_000;

/**
 * Watches an open stream, and adds it to `streams`. The stream ends when its token expires. It also ends when the
 * authorization server refuses the token, if the route has `revalidate` or the token has no expiry. While the server is
 * unavailable, the stream stays open until its token expires.
 *
 * @returns a function that stops the watch.
 */
export function guardStream(
  opened: Omit<OpenStream, 'revalidateEvery'>,
  streams: OpenStreams,
  clock: Clock,
): () => void {
  const { route, grant, held, end } = opened;
  const endsAt = (grant.principal?.expiresAt ?? Infinity) * 1000;
  const defaultMs = endsAt === Infinity ? ENDLESS_REVALIDATE_MS : undefined;
  let timer: NodeJS.Timeout | undefined;
  let everyMs: number | undefined;
  let over = false;
  const stream: OpenStream = { ...opened, revalidateEvery };
  revalidateEvery(route.revalidateMs);
  streams.add(stream);
  const cancelExpiry = atDeadline(endsAt, () => end('the token expired'), clock);
  return () => {
    over = true;
    streams.delete(stream);
    cancelExpiry();
    clearInterval(timer);
  };

  /** An unchanged interval keeps its timer, so that frequent reloads do not postpone a validation. */
  function revalidateEvery(routeMs: number | undefined): void {
    const intervalMs = routeMs ?? defaultMs;
    if (over || held === undefined || intervalMs === everyMs) return;
    everyMs = intervalMs;
    clearInterval(timer);
    timer = intervalMs === undefined ? undefined : setInterval(again, intervalMs, held).unref();
  }

  function again(token: HeldToken): void {
    token.revalidate().catch((error: unknown) => {
      if (error instanceof Denial && error.reason === 'authorization_server.unavailable') return;
      end('the token was revoked');
    });
  }
}
