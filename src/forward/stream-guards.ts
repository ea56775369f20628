import type { Clock } from '../lib/clock.ts';
import { atDeadline } from '../lib/deadline.ts';
import { Denial } from '../model/denial.ts';
import type { HeldToken } from '../model/grant.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';

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
