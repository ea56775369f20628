import type { Call } from '../model/call.ts';
import { isRespelled, namesOtherTarget, plainName } from '../model/client-fields.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, UpstreamCredential } from '../model/grant.ts';
import type { Route } from '../model/route.ts';
import { createIdentityHeaders, type SignIdentity } from './identity-headers.ts';

/** What a proxy is to say to its upstream, and what it must not let pass by. */
export interface PermitHeaders {
  /**
   * Lets a call pass that claims nothing for itself. We would take such a field away; a proxy forwards what it was not
   * told to set, and some also where they were told to and the answer's field is empty (CVE-2026-30851).
   *
   * @throws {Denial} `forward_auth.request` for an identity header of the client's own, in any spelling; for another
   *   spelling of a field that was decided on; for one that names another method or path to some servers.
   */
  requireUnclaimed(call: Call): void;
  /** Each name that the route may ever set, with `''` where it has nothing to say: a proxy that copies it removes the client's. */
  of(call: Call, grant: Grant, credential: UpstreamCredential): Readonly<Record<string, string>>;
}

/**
 * Creates what a route's upstream gets besides the client's own fields, by way of a proxy.
 *
 * @param claimed As `identityNames` has them, of all routes.
 */
export function createPermitHeaders(
  route: Route,
  claimed: ReadonlySet<string>,
  sign: SignIdentity | undefined,
): PermitHeaders {
  const identity = createIdentityHeaders(route, sign);
  const silent = Object.fromEntries([...identity.names, 'authorization'].map((name) => [name, '']));

  function isClaim(name: string): boolean {
    const plain = plainName(name);
    return claimed.has(plain) || namesOtherTarget(plain) || isRespelled(name, plain);
  }

  return {
    requireUnclaimed({ fields: { names } }) {
      const claimed = names.find(isClaim);
      if (claimed === undefined) return;
      throw new Denial(
        'forward_auth.request',
        `the client sends ${JSON.stringify(claimed.slice(0, 64))}, and the proxy may forward it`,
      );
    },
    of(call, grant, credential) {
      const told: string[] = [];
      if (grant.principal !== undefined) identity.addTo(told, grant.principal, call.decision);
      const headers: Record<string, string> = { ...silent };
      for (let i = 0; i < told.length; i += 2) headers[told[i] as string] = told[i + 1] as string;
      if (credential !== undefined) headers['authorization'] = credential;
      return headers;
    },
  };
}
