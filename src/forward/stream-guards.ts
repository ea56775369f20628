import type { Clock } from '../lib/clock.ts';
import { atDeadline } from '../lib/deadline.ts';
import { Denial } from '../model/denial.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';

/** Asks again whether the token of a call still holds; rejects with a {Denial} when it does not. */
export type Revalidate = () => Promise<unknown> | undefined;

/**
 * Watches an open stream: it ends with its token, and, where the route says `revalidate`, when the authorization server
 * says so. A server that is away says nothing, and the stream goes on until it expires. While it is open it is among
 * `streams`.
 *
 * @returns a function that stops watching.
 */
export function guardStream(
  opened: Omit<OpenStream, 'revalidateEvery'>,
  revalidate: Revalidate | undefined,
  streams: OpenStreams,
  clock: Clock,
): () => void {
  const { route, grant, end } = opened;
  let timer: NodeJS.Timeout | undefined;
  let everyMs: number | undefined;
  let over = false;
  const stream: OpenStream = { ...opened, revalidateEvery };
  revalidateEvery(route.revalidateMs);
  streams.add(stream);
  const expiresAt = (grant.principal?.expiresAt ?? Infinity) * 1000;
  const callOffExpiry = atDeadline(expiresAt, () => end('the token expired'), clock);
  return () => {
    over = true;
    streams.delete(stream);
    callOffExpiry();
    clearInterval(timer);
  };

  /** Whoever saves a file again and again does not put off what is due. */
  function revalidateEvery(intervalMs: number | undefined): void {
    if (over || intervalMs === everyMs) return;
    everyMs = intervalMs;
    clearInterval(timer);
    timer = intervalMs === undefined ? undefined : setInterval(again, intervalMs).unref();
  }

  function again(): void {
    revalidate?.()?.catch((error: unknown) => {
      if (error instanceof Denial && error.reason === 'authorization_server.unavailable') return;
      end('the token was revoked');
    });
  }
}
