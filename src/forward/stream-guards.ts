import type { Clock } from '../lib/clock.ts';
import { atDeadline } from '../lib/deadline.ts';
import { Denial } from '../model/denial.ts';
import type { Grant } from '../model/grant.ts';
import type { Route } from '../model/route.ts';

/** Asks again whether the token of a call still holds; rejects with a {Denial} when it does not. */
export type Revalidate = () => Promise<void> | undefined;

/**
 * Watches an open stream: it ends with its token, and, where the route says `revalidate`, when the authorization server
 * says so. A server that is away says nothing, and the stream goes on until it expires.
 *
 * @returns a function that stops watching.
 */
export function guardStream(
  route: Route,
  grant: Grant,
  revalidate: Revalidate | undefined,
  end: (why: string) => void,
  clock: Clock,
): () => void {
  const expiresAt = (grant.principal?.expiresAt ?? Infinity) * 1000;
  const callOffExpiry = atDeadline(expiresAt, () => end('the token expired'), clock);
  if (route.revalidateMs === undefined || revalidate === undefined) return callOffExpiry;
  const timer = setInterval(() => {
    revalidate()?.catch((error: unknown) => {
      if (error instanceof Denial && error.reason === 'authorization_server.unavailable') return;
      end('the token was revoked');
    });
  }, route.revalidateMs).unref();
  return () => {
    callOffExpiry();
    clearInterval(timer);
  };
}
