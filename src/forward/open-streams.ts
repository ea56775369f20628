import type { Clock } from '../lib/clock.ts';
import { atDeadline } from '../lib/deadline.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, HeldToken, PresentedToken, RefusedToken } from '../model/grant.ts';
import type { Route } from '../model/route.ts';

/** An event stream, another answer without a length, or a WebSocket: it outlives the decision that opened it. */
export interface OpenStream {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
  /** Whether it is a WebSocket. */
  readonly isUpgrade: boolean;
  readonly end: (why: string) => void;
  /** Sets the interval at which its token is validated again; undefined: only where nothing says when the token ends. */
  readonly revalidateEvery: (intervalMs: number | undefined) => void;
}

/** Those that are open now, so that a next configuration can decide on each again. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
}

/** All open streams of the process, and what is known of their tokens. */
export interface StreamIndex extends OpenStreams {
  all(): readonly OpenStream[];
  /** The open streams of a token that was found refused. A stream that opens later finds it by `refusalOf`. */
  refuse(refused: RefusedToken): readonly OpenStream[];
  /** The refusal of a stream's token since its request came; undefined where there was none. */
  refusalOf(stream: OpenStream): RefusedToken | undefined;
}

/** Bounds memory, whatever callers present. */
const MAX_REFUSALS = 20_000;
/** How long a refusal is remembered, for streams whose upstream has not answered yet. */
const REFUSAL_MS = 10 * 60_000;

/**
 * Creates an empty index.
 *
 * @param keyOf By what a token is remembered, as {@link RefusedToken.key}.
 */
export function createStreamIndex(keyOf: (token: PresentedToken) => string, clock: Clock): StreamIndex {
  const open = new Set<OpenStream>();
  const byToken = new Map<string, Set<OpenStream>>();
  const refusals = createExpiringCache<{ readonly refused: RefusedToken; readonly at: number }>(MAX_REFUSALS, clock);

  return {
    add(stream) {
      open.add(stream);
      if (stream.held === undefined) return;
      const key = keyOf(stream.held.token);
      const others = byToken.get(key);
      if (others === undefined) byToken.set(key, new Set([stream]));
      else others.add(stream);
    },
    delete(stream) {
      open.delete(stream);
      if (stream.held === undefined) return;
      const key = keyOf(stream.held.token);
      const same = byToken.get(key);
      same?.delete(stream);
      if (same?.size === 0) byToken.delete(key);
    },
    all: () => [...open],
    refuse(refused) {
      refusals.set(refused.key, { refused, at: performance.now() }, clock() + REFUSAL_MS);
      return [...(byToken.get(refused.key) ?? [])].filter((stream) => isOf(stream, refused));
    },
    refusalOf(stream) {
      const last = stream.held && refusals.get(keyOf(stream.held.token));
      if (last === undefined || last.at < stream.call.startedAt || !isOf(stream, last.refused)) return undefined;
      return last.refused;
    },
  };
}

/** The same string may be another token at another server. */
function isOf({ grant: { principal } }: OpenStream, { issuers }: RefusedToken): boolean {
  return principal !== undefined && issuers.includes(principal.issuer);
}

/** `revalidate` of a token that has no end: nothing else would ever end its streams. No setting switches it off. */
const ENDLESS_REVALIDATE_MS = 30_000;

/**
 * Watches an open stream: it ends with its token, and, where the route says `revalidate` or nothing says when the token ends,
 * when the authorization server says so. A server that is away says nothing, and the stream goes on until it expires. While it
 * is open it is among `streams`.
 *
 * @returns a function that stops watching.
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
  const callOffExpiry = atDeadline(endsAt, () => end('the token expired'), clock);
  return () => {
    over = true;
    streams.delete(stream);
    callOffExpiry();
    clearInterval(timer);
  };

  /** Whoever saves a file again and again does not put off what is due. */
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
