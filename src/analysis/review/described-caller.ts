import { actorsIn } from '../../ports/actors.ts';
import type { GatewayClaimName } from '../../core/model/gateway-claims.ts';
import type { Claims, Principal } from '../../core/model/principal.ts';
import { expandScopes } from '../../ports/scope-hierarchy.ts';
import { callerKey, clientClaim, isName } from '../../core/model/caller-key.ts';
import type { PolicyTest } from '../../policy-files/policy-tests.ts';
import { listedKinds, mcpMethod, targetKinds } from '../../core/model/mcp.ts';
import { type Attempt, type Decision, denialIn } from '../../core/model/policy.ts';
import { durationSeconds } from '../../core/policy/conditions/leaves.ts';

interface DescribedCaller extends Pick<Principal, 'issuer' | 'subject' | 'clientId' | 'claims'> {
  readonly scope: readonly string[];
  /** `exp - iat`; undefined: the token says neither. */
  readonly lifetimeSeconds: number | undefined;
}

/**
 * The subject and the client of described claims. A description names only the claims that matter to a policy, so a
 * caller without `sub` gets a default subject. `sub: null` describes a caller without a subject. The client is that of
 * the gateway.
 */
function describedIdentity(claims: Claims): Pick<DescribedCaller, 'subject' | 'clientId'> {
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
  const actors = actorsIn(claims, issuer);
  const dates = lifetimeSeconds === undefined ? undefined : { iat: issuedAt, exp: issuedAt + lifetimeSeconds };
  return {
    issuer,
    subject,
    clientId,
    // A chain that no token may have is refused where it is written.
    ...(typeof actors === 'object' && { actors }),
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

/** The principal that a test describes. */
export function callerOf(
  { scope = [], claims: written = {}, lifetime, authenticated, issuer }: PolicyTest['given'],
  hierarchy: ReadonlyMap<string, readonly string[]>,
  defaultIssuer: string,
): Principal {
  const added: Partial<Record<GatewayClaimName, unknown>> =
    authenticated === undefined ? {} : { authenticated_ago: durationSeconds(authenticated) };
  const claims = { ...written, ...added };
  return principalWith(
    {
      issuer: issuer ?? defaultIssuer,
      ...describedIdentity(claims),
      scope: typeof scope === 'string' ? scope.split(' ') : scope,
      claims,
      lifetimeSeconds: lifetime === undefined ? undefined : durationSeconds(lifetime),
    },
    hierarchy,
  );
}

/** The attempt that a test describes. */
export function attemptOf(when: PolicyTest['when']): Attempt {
  if (when.request !== undefined) return { kind: 'http', request: when.request };
  const kind = targetKinds.find((each) => when[each] !== undefined);
  if (kind === undefined && when.method === undefined) return { kind: 'http' };
  const method = when.method ?? (kind === undefined ? undefined : listedKinds[kind].namedBy);
  const targets = kind === undefined ? [] : [{ kind, name: when[kind] ?? '' }];
  return { kind: 'mcp', method: mcpMethod(method), targets, arguments: when.arguments };
}

/** Whether a decision is what a test wants. */
export function fulfils(decision: Decision, wanted: PolicyTest['then']): boolean {
  if (wanted === 'allow') return decision.allow && decision.shadow === undefined;
  if (wanted === 'shadow') return decision.allow && decision.shadow !== undefined;
  if (decision.allow || decision.denial.reason !== wanted.deny) return false;
  return wanted.challenge === undefined || wanted.challenge === decision.denial.scope.join(' ');
}

/** A decision, in a line. */
export function foundOf(decision: Decision): string {
  if (decision.allow && decision.shadow === undefined) return `allow, by ${decision.rule}`;
  const denial = denialIn(decision);
  const challenge = denial?.scope.length === 0 ? '' : `, challenge "${denial?.scope.join(' ')}"`;
  return `${decision.allow ? 'shadow' : 'deny'} ${denial?.reason}${challenge}, by ${denial?.rule}: ${denial?.detail}`;
}
