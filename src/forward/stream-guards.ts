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
  stream: OpenStream,
  revalidate: Revalidate | undefined,
  streams: OpenStreams,
  clock: Clock,
): () => void {
  const { route, grant, end } = stream;
  streams.add(stream);
  const expiresAt = (grant.principal?.expiresAt ?? Infinity) * 1000;
  const callOffExpiry = atDeadline(expiresAt, () => end('the token expired'), clock);
  const timer = route.revalidateMs === undefined ? undefined : setInterval(again, route.revalidateMs).unref();
  return () => {
    streams.delete(stream);
    callOffExpiry();
    clearInterval(timer);
  };

  function again(): void {
    revalidate?.()?.catch((error: unknown) => {
      if (error instanceof Denial && error.reason === 'authorization_server.unavailable') return;
      end('the token was revoked');
    });
  }
}
