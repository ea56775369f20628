import type { Clock } from '../lib/clock.ts';
import type { Claims, Principal } from './principal.ts';

interface GatewayClaim {
  /** The claim of the token that the value is made of. The decision log has that one: the value differs each second. */
  readonly source: string;
  /** The value at a time in seconds since the epoch; undefined: a condition on it does not hold. */
  readonly valueAt: (claims: Claims, now: number) => unknown;
}

/** How far the clock of an authorization server may be ahead: a later sign-in would never be too old. */
const MAX_SKEW_SECONDS = 60;

/**
 * The claims that the gateway adds to those of a caller at each decision, by name. Policies read them as claims of the
 * token. What the token itself says there counts for nothing.
 */
const gatewayClaims = {
  /** How many seconds ago the caller signed in; what `max_age` reads. */
  authenticated_ago: {
    source: 'auth_time',
    valueAt({ auth_time: authTime }, now) {
      const ago = typeof authTime === 'number' ? now - authTime : Number.NaN;
      return ago >= -MAX_SKEW_SECONDS ? Math.max(0, Math.ceil(ago)) : undefined;
    },
  },
} as const satisfies Readonly<Record<string, GatewayClaim>>;

/** The name of a claim that the gateway adds. */
export type GatewayClaimName = keyof typeof gatewayClaims;

const rows: readonly (readonly [string, GatewayClaim])[] = Object.entries(gatewayClaims);

/** The claim that the gateway adds and that a condition on `name` reads, also as a JSON Pointer; undefined: none. */
export function gatewayClaim(name: string): GatewayClaim | undefined {
  const [, first] = /^\/([^/]*)/.exec(name) ?? [];
  return rows.find(([each]) => each === (first ?? name))?.[1];
}

/**
 * The principal of a decision, with the claims that the gateway adds.
 *
 * @param described The claims of a caller that a person describes. They may say the value themselves, where they lack
 *   its source.
 */
export function withGatewayClaims(principal: Principal, clock: Clock, described: Claims = {}): Principal {
  const claims: Record<string, unknown> = { ...principal.claims };
  for (const [name, { source, valueAt }] of rows) {
    const isDescribed = described[name] !== undefined && described[source] === undefined;
    const value = isDescribed ? described[name] : valueAt(principal.claims, clock() / 1000);
    if (value === undefined) delete claims[name];
    else claims[name] = value;
  }
  return { ...principal, claims };
}
