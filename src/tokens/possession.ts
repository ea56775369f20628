import type { Call } from '../core/model/call.ts';
import { Denial } from '../core/model/denial.ts';
import type { CheckProof } from '../core/model/on-route.ts';
import type { PresentedToken } from '../core/model/grant.ts';
import type { Principal } from '../core/model/principal.ts';
import type { Endpoint } from '../core/model/endpoint.ts';

/** Requires the caller to hold the keys that a validated token is bound to. Synchronous for a bearer token. */
export type Possession = (principal: Principal, token: PresentedToken, call: Call) => Principal | Promise<Principal>;

/**
 * Creates the possession check of an endpoint. The caller proves every member of `cnf`: by a DPoP proof
 * (RFC 9449 §7.1), by the certificate of the connection (RFC 8705 §3), or by both.
 *
 * @param checkProof Checks DPoP proofs; undefined: no token that is bound to such a key passes.
 * @returns a function that throws {Denial} `token.sender_constrained` for a key-bound token presented as a plain
 *   Bearer, `token.unbound` for an unbound token if a bound one is required, `token.binding` for another key, and
 *   `proof.*`.
 */
export function createPossession({ proofs }: Pick<Endpoint, 'proofs'>, checkProof: CheckProof | undefined): Possession {
  const required = proofs?.required === true;

  return (principal, { scheme, value }, call) => {
    const { confirmation } = principal;
    if (confirmation === undefined) {
      if (scheme === 'dpop') throw new Denial('token.unbound', 'DPoP with a token that is bound to no key');
      if (required) throw new Denial('token.unbound', 'the route requires bound tokens (dpop.required)');
      return principal;
    }
    const { jwkThumbprint, certificateThumbprint } = confirmation;
    if (certificateThumbprint !== undefined) requireCertificate(certificateThumbprint, call);
    if (jwkThumbprint === undefined) {
      if (scheme === 'dpop')
        throw new Denial('token.unbound', 'DPoP with a token that is bound to a certificate alone');
      return principal;
    }
    if (scheme !== 'dpop' || checkProof === undefined) {
      throw new Denial(
        'token.sender_constrained',
        'a token that is bound to a key (cnf) was presented as a plain Bearer',
      );
    }
    return checkProof(call, value, jwkThumbprint, principal.callerKey ?? principal.issuer).then(() => principal);
  };
}

/** Requires the certificate of this connection, RFC 8705 §3. */
function requireCertificate(bound: string, { certificateThumbprint }: Call): void {
  if (certificateThumbprint === undefined) {
    const found = 'neither TLS nor a peer in certificate_proxies presented one';
    throw new Denial('token.binding', `the token is bound to a certificate, and ${found}`);
  }
  if (certificateThumbprint !== bound) {
    throw new Denial('token.binding', 'the token is bound to a certificate other than that of the connection');
  }
}
