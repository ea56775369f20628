import { Denial } from '../../core/model/denial.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import type { Grant } from '../../core/model/grant.ts';
import type { Route } from '../../core/model/route.ts';
import type { InProcess } from '../capability.ts';
import { reasons } from './reasons.ts';
import { upstreamHeaders } from './slot.ts';

/** Header fields of the gateway itself in a process. */
export function openUpstreamHeaders(): InProcess {
  return { open: () => ({ of: requireEntriesOn }) };
}

/** Requires that the caller has an entry in each header that depends on it. */
function requireEntriesOn(route: Route): OnRoute {
  const required = upstreamHeaders.of(route)?.chosen.filter(({ fallback }) => fallback === undefined) ?? [];
  if (required.length === 0) return {};

  function requireEntries({ principal, decision }: Grant): void {
    const missing = required.find(({ valueFor }) => principal === undefined || valueFor(principal) === undefined);
    if (missing === undefined) return;
    const { name, claim } = missing;
    throw new Denial(reasons['credential.missing'], `upstream.headers.${name} has no entry for the caller's ${claim}`, {
      because: decision.plan?.because,
    });
  }

  return {
    gate: { enter: (_call, grant) => requireEntries(grant), reconsider: requireEntries },
  };
}
