import { callerKey, clientClaim, type Claims, isName, type Principal, expandScopes } from '../model/principal.ts';

/** The description of a caller. */
export interface DescribedCaller {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly clientId: string | undefined;
  readonly scope: readonly string[];
  readonly claims: Claims;
  /** `exp - iat`; undefined: the token says neither. */
  readonly lifetimeSeconds: number | undefined;
}

/**
 * The subject and the client of described claims. A description names only the claims that matter to a policy, so a
 * caller without `sub` gets a default subject. `sub: null` describes a caller without a subject. The client is that of
 * the gateway.
 */
export function describedIdentity(claims: Claims): Pick<DescribedCaller, 'subject' | 'clientId'> {
  const { sub = 'caller', [clientClaim(claims)]: client } = claims;
  return { subject: typeof sub === 'string' ? sub : undefined, clientId: isName(client) ? client : undefined };
}

/** The `iat` of described tokens; arbitrary, since no policy can read it. */
const issuedAt = 1_800_000_000;

/** The principal of a described caller. Members of `claims` take precedence over the rest of the description. */
export function principalWith(
  { issuer, subject, clientId, scope, claims, lifetimeSeconds }: DescribedCaller,
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
