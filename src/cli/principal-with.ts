import { callerKey, type Claims, type Principal } from '../model/principal.ts';
import { expandScopes } from '../policy/hierarchy.ts';

/** A caller in so many words. */
export interface Described {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly clientId: string | undefined;
  readonly scope: readonly string[];
  readonly claims: Claims;
  /** `exp - iat`; undefined: the token says neither. */
  readonly lifetimeSeconds: number | undefined;
}

/** When described tokens are issued: any time will do, since no policy asks for it. */
const issuedAt = 1_800_000_000;

/** The caller as the stages before the policy would hand them on. What `claims` says stands, even where it contradicts the rest. */
export function principalWith(
  { issuer, subject, clientId, scope, claims, lifetimeSeconds }: Described,
  hierarchy: ReadonlyMap<string, readonly string[]>,
): Principal {
  const dates = lifetimeSeconds === undefined ? undefined : { iat: issuedAt, exp: issuedAt + lifetimeSeconds };
  return {
    issuer,
    subject,
    clientId,
    callerKey: callerKey({ issuer, subject, clientId }),
    grantedScopes: scope,
    scopes: expandScopes(scope, hierarchy),
    audience: [],
    expiresAt: dates?.exp,
    issuedAt: dates?.iat,
    form: 'jwt',
    confirmation: undefined,
    introspectionJwt: undefined,
    claims: { iss: issuer, ...(scope.length > 0 && { scope: scope.join(' ') }), ...dates, ...claims },
  };
}
