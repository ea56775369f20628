import type { PolicyTest } from '../config/policy-tests.ts';
import type { Attempt, Decision, McpTarget } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { durationSeconds } from '../policy/condition.ts';
import { expandScopes } from '../policy/hierarchy.ts';

/** When the tokens of tests are issued: any time will do, since no policy asks for it. */
const issuedAt = 1_800_000_000;

/** The caller of a test, as a stage before the policy would describe them. */
export function callerOf(
  { scope = [], claims = {}, lifetime, issuer }: PolicyTest['given'],
  hierarchy: ReadonlyMap<string, readonly string[]>,
  defaultIssuer: string,
): Principal {
  const granted = typeof scope === 'string' ? scope.split(' ') : scope;
  const iss = issuer ?? defaultIssuer;
  const dates = lifetime === undefined ? undefined : { iat: issuedAt, exp: issuedAt + durationSeconds(lifetime) };
  const { sub, client_id: clientId } = claims;
  return {
    issuer: iss,
    subject: typeof sub === 'string' ? sub : undefined,
    clientId: typeof clientId === 'string' ? clientId : undefined,
    scopes: expandScopes(granted, hierarchy),
    audience: [],
    expiresAt: dates?.exp,
    issuedAt: dates?.iat,
    form: 'jwt',
    confirmation: undefined,
    introspectionJwt: undefined,
    // What a test says in so many words stands, even where it contradicts the rest.
    claims: { iss, ...(granted.length > 0 && { scope: granted.join(' ') }), ...dates, ...claims },
  };
}

const usualMethod = {
  tool: 'tools/call',
  resource: 'resources/read',
  template: 'completion/complete',
  prompt: 'prompts/get',
} as const satisfies Readonly<Record<McpTarget['kind'], string>>;

const kinds = Object.keys(usualMethod) as readonly (keyof typeof usualMethod)[];

/** What a test attempts. */
export function attemptOf(when: PolicyTest['when']): Attempt {
  const kind = kinds.find((each) => when[each] !== undefined);
  if (kind === undefined && when.method === undefined) return { kind: 'http' };
  const method = when.method ?? (kind === undefined ? undefined : usualMethod[kind]);
  const targets = kind === undefined ? [] : [{ kind, name: when[kind] ?? '' }];
  return { kind: 'mcp', method, targets, arguments: when.arguments };
}

/** Whether a decision is what a test wants. */
export function fulfils(decision: Decision, wanted: PolicyTest['then']): boolean {
  if (wanted === 'allow') return decision.allow && decision.shadow === undefined;
  if (wanted === 'shadow') return decision.allow && decision.shadow !== undefined;
  if (decision.allow || decision.denial.reason !== wanted.deny) return false;
  return wanted.challenge === undefined || wanted.challenge === decision.denial.scope.join(' ');
}

/** What a test wants, in a line. */
export function wantedOf(wanted: PolicyTest['then']): string {
  if (typeof wanted === 'string') return wanted;
  return `deny ${wanted.deny}${wanted.challenge === undefined ? '' : `, challenge "${wanted.challenge}"`}`;
}

/** A decision, in a line. */
export function foundOf(decision: Decision): string {
  if (decision.allow && decision.shadow === undefined) return `allow, by ${decision.rule}`;
  const denial = decision.allow ? decision.shadow : decision.denial;
  const challenge = denial?.scope.length === 0 ? '' : `, challenge "${denial?.scope.join(' ')}"`;
  return `${decision.allow ? 'shadow' : 'deny'} ${denial?.reason}${challenge}, by ${denial?.rule}: ${denial?.detail}`;
}
