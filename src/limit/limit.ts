import { hash } from 'node:crypto';
import { addressBlock } from '../lib/address-block.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { RateLimiters } from '../model/limits.ts';
import type { Principal } from '../model/principal.ts';
import type { Rate, Route } from '../model/route.ts';
import { retryAfterSeconds } from './retry-after-seconds.ts';

/** Counts a call; at once where no store has to be asked. */
export type Limit = (call: Call, principal: Principal | undefined) => void | Promise<void>;

/** A subject of any length is remembered in this many characters. */
const MAX_KEY = 200;

/**
 * Creates the rate limit of a route: for each subject, else client, else address.
 *
 * @returns a function that throws {Denial} `rate.exceeded`; undefined for a route without limit.
 */
export function createLimit(route: Route, limiters: RateLimiters): Limit | undefined {
  const { name, rate } = route;
  if (rate === undefined) return undefined;
  const limiter = limiters('requests', rate);
  const policy = ratePolicy(rate);
  /** A principal stays the same object as long as its token is known. */
  const keys = new WeakMap<Principal, string>();

  return (call, principal) => {
    const waitMs = limiter.take(keyOf(call, principal));
    if (typeof waitMs !== 'number') return waitMs.then(requireNone);
    return requireNone(waitMs);
  };

  function keyOf(call: Call, principal: Principal | undefined): string {
    if (principal === undefined) return `${name}\na${addressBlock(call.client)}`;
    const known = keys.get(principal);
    if (known !== undefined) return known;
    const { issuer, subject, clientId } = principal;
    // Nobody can be told apart from others who have neither, but by where he calls from.
    if (subject === undefined && clientId === undefined) return `${name}\na${addressBlock(call.client)}`;
    const long = `${name}\n${issuer}\n${subject === undefined ? `c${clientId}` : `s${subject}`}`;
    const key = long.length > MAX_KEY ? hash('sha256', long, 'base64url') : long;
    keys.set(principal, key);
    return key;
  }

  function requireNone(waitMs: number): void {
    if (waitMs === 0) return;
    const seconds = retryAfterSeconds(waitMs);
    const { requests, perMs, burst } = rate as Rate;
    throw new Denial('rate.exceeded', `more than ${requests} in ${perMs} ms with a burst of ${burst}`, {
      retryAfterSeconds: seconds,
      // No time after which all of it is there again, but until then nothing is: draft-ietf-httpapi-ratelimit-headers-11 §4.1.2.
      headers: { 'RateLimit-Policy': policy, RateLimit: `"default";r=0;t=${seconds}` },
    });
  }
}

/** draft-ietf-httpapi-ratelimit-headers-11 §3.1: the same rate over whole seconds, which is all that `w` can say. */
function ratePolicy({ requests, perMs }: Rate): string {
  const times = 1000 / greatestCommonDivisor(perMs, 1000);
  return `"default";q=${requests * times};w=${(perMs * times) / 1000}`;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
