import { hash } from 'node:crypto';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import type { CallHistory } from './call-history.ts';
import type { Reservation } from './ledger.ts';
import type { Principal } from '../../core/model/principal.ts';

interface Counting extends Pick<Reservation, 'id' | 'route' | 'continues'> {
  readonly principal: Principal;
}

/** The question to a ledger about a call. */
export function reservationOf(
  { isShadow, checks, records }: CallHistory,
  { id, principal, route, continues }: Counting,
): Reservation {
  /** A digest: neither subjects nor arguments leave the process. No call is recorded where a value is missing. */
  const placeOf = (track: string | undefined): string =>
    track === undefined ? 'none' : hash('sha256', lengthPrefixed([route, track]), 'base64url');
  return {
    id,
    route,
    owner: callerOf(principal),
    // No earlier call is in the track of no call: `after` never passes there.
    checks: checks.map(({ kind, track, amount, limit, isBroken }) =>
      isBroken
        ? { kind: 'after', track: placeOf(undefined), amount, limit }
        : { kind, track: placeOf(track), amount, limit },
    ),
    entries: records.map(({ track, amount, keepMs }) => ({ track: placeOf(track), amount, keepMs })),
    isShadow,
    continues,
  };
}

/** The caller, for the share that each may have of the memory. */
export function callerOf({ callerKey, issuer }: Principal): string {
  return hash('sha256', callerKey ?? lengthPrefixed([issuer]), 'base64url');
}
