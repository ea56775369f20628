import { claimReader } from '../../lib/json/pointer.ts';
import type { RequiredAuthentication } from '../../model/denial.ts';
import { AUTHENTICATED_AGO } from '../../model/principal.ts';
import type { ValueDocument } from '../document.ts';
import { rulePath } from '../policy-error.ts';
import { compilePredicates, describeFound } from '../predicate.ts';
import {
  type ConditionContext,
  type LeafCondition,
  leafCondition,
  neededAuthentication,
  neededScopes,
} from './condition.ts';
import { durationSeconds } from './lifetime.ts';

type Context = Pick<ConditionContext, 'path' | 'faults' | 'reading'>;

/** `acr`: the caller signed in by one of these ways, RFC 9470 §4. */
export function compileAcr(written: string | readonly string[], context: Context): readonly LeafCondition[] {
  const acrValues = typeof written === 'string' ? [written] : written;
  return [
    authenticationCondition('acr', { one_of: acrValues }, `acr ${acrValues.join(' or ')}`, { acrValues }, context),
  ];
}

/** `max_age`: the caller signed in at most this long ago, RFC 9470 §4. */
export function compileMaxAge(written: string, context: Context): readonly LeafCondition[] {
  // RFC 9470 §3: whole seconds.
  const maxAge = Math.floor(durationSeconds(written));
  const wanted = `a sign-in (auth_time) at most ${maxAge} s ago`;
  return [authenticationCondition(AUTHENTICATED_AGO, { at_most: maxAge }, wanted, { maxAge }, context)];
}

/** A condition on one claim whose failure a new sign-in mends. */
function authenticationCondition(
  name: string,
  value: ValueDocument,
  wanted: string,
  authentication: RequiredAuthentication,
  { path, faults, reading }: Context,
): LeafCondition {
  const read = claimReader(name) ?? (() => undefined);
  const predicates = compilePredicates(value, path, faults, reading);
  return leafCondition({
    kind: 'claim',
    rule: rulePath(path),
    reason: 'authentication.insufficient',
    unmet: 'authentication',
    reads: { claims: [{ name, read, predicates }], authentication },
    judge({ claims }) {
      const found = read(claims);
      for (const { test } of predicates) if (!test(found)) return 'authentication';
      return 'met';
    },
    words: ({ claims }) => ({ reads: name, wanted, found: describeFound(read(claims), predicates) }),
    denialWords(principal, applied) {
      const scopes = neededScopes(applied, principal);
      const isScopeMissing = scopes.some((scope) => !principal.scopes.has(scope));
      return {
        detail: `wanted ${wanted}, found ${describeFound(read(principal.claims), predicates)}`,
        scope: isScopeMissing ? scopes : [],
        authentication: neededAuthentication(applied, principal),
      };
    },
  });
}
