import { createIdentityHeaders } from '../../core/gateway/forward/identity-headers.ts';
import type { Call } from '../../core/model/call.ts';
import { Denial } from '../../core/model/denial.ts';
import { isRespelled, isTrusted, namesOtherTarget, plainFieldName } from '../../core/model/client-fields.ts';
import type { StatesCaller } from '../../core/model/on-route.ts';
import type { Grant, UpstreamCredential } from '../../core/model/grant.ts';
import type { Route } from '../../core/model/route.ts';
import { reasons } from './reasons.ts';

/** The headers that a proxy sets for its upstream, and those that a client must not send through it. */
export interface PermitHeaders {
  /**
   * Requires that the client sends no such header itself. The gateway would drop it. A proxy forwards a header that it
   * does not set, and some proxies even one that they set to an empty value (CVE-2026-30851).
   *
   * @throws {Denial} `forward_auth.request` for an identity header of any route in any spelling, for a field by which
   *   frontends name the user or a certificate, for another spelling of a field that the gateway reads, and for a field
   *   that names another method or path to some servers.
   */
  requireUnclaimed(call: Call): void;
  /**
   * Every header that the route may set, and the identity headers of the other routes, empty without a value. A proxy
   * that copies them overwrites the client's. Caddy copies the name of its variable if the answer lacks one.
   */
  of(call: Call, grant: Grant, credential: UpstreamCredential): Readonly<Record<string, string>>;
}

/**
 * Creates the headers that a proxy sends to the upstream of a route, besides those of the client.
 *
 * @param claimed The identity headers of all routes, as `identityNames` returns them.
 */
export function createPermitHeaders(
  route: Route,
  claimed: ReadonlyMap<string, string>,
  states: readonly StatesCaller[],
): PermitHeaders {
  const identity = createIdentityHeaders(route, states);
  const { ownFields } = route.upstream;
  const own = new Set(identity.names.map(plainFieldName));
  const ofOthers = [...claimed].flatMap(([plain, name]) => (own.has(plain) ? [] : [name]));
  const cleared = Object.fromEntries([...ofOthers, ...identity.names, 'authorization'].map((name) => [name, '']));

  function isClaim(name: string): boolean {
    const plain = plainFieldName(name);
    return (
      claimed.has(plain) ||
      ownFields?.names.has(plain) === true ||
      isTrusted(plain) ||
      namesOtherTarget(plain) ||
      isRespelled(name, plain)
    );
  }

  return {
    requireUnclaimed({ fields: { names } }) {
      const found = names.find(isClaim);
      if (found === undefined) return;
      throw new Denial(
        reasons['forward_auth.request'],
        `the client sends ${JSON.stringify(found.slice(0, 64))}, and the proxy may forward it`,
      );
    },
    of(call, grant, credential) {
      const fields: string[] = [];
      if (grant.principal !== undefined) identity.addTo(fields, grant.principal, call.decision);
      const headers: Record<string, string> = { ...cleared };
      ownFields?.addTo(fields, grant.principal);
      for (let i = 0; i < fields.length; i += 2) headers[fields[i] as string] = fields[i + 1] as string;
      if (credential !== undefined) headers['authorization'] = credential;
      return headers;
    },
  };
}
