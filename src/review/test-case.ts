import type { PolicyTest } from '../config/policy-tests.ts';
import { listedKinds, mcpMethod, targetKinds } from '../model/mcp.ts';
import type { Attempt, Decision } from '../model/policy.ts';
import { AUTHENTICATED_AGO, type Principal } from '../model/principal.ts';
import { durationSeconds } from '../policy/conditions/leaves.ts';
import { describedIdentity, principalWith } from './described-caller.ts';

/** The principal that a test describes. */
export function callerOf(
  { scope = [], claims: written = {}, lifetime, authenticated, issuer }: PolicyTest['given'],
  hierarchy: ReadonlyMap<string, readonly string[]>,
  defaultIssuer: string,
): Principal {
  const ago = authenticated === undefined ? {} : { [AUTHENTICATED_AGO]: durationSeconds(authenticated) };
  const claims = { ...written, ...ago };
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
