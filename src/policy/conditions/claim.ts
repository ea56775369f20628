import { malformedPointer } from '../../lib/json/describe-value.ts';
import { claimReader } from '../../lib/json/pointer.ts';
import type { ValueDocument } from '../document.ts';
import { rulePath } from '../policy-error.ts';
import { compilePredicates, describeFound, wantedBy } from '../predicate.ts';
import { type ClaimRead, type ConditionContext, type LeafCondition, leafCondition } from './condition.ts';

/** `claims`: each claim is as its predicates want. */
export function compileClaims(
  written: Readonly<Record<string, ValueDocument>>,
  { path, faults, reading }: Pick<ConditionContext, 'path' | 'faults' | 'reading'>,
): readonly LeafCondition[] {
  return Object.entries(written).map(([name, value]) => {
    const at = [...path, name];
    const read = claimReader(name);
    if (read === undefined) faults.push({ path: at, message: malformedPointer(name) });
    const predicates = compilePredicates(value, at, faults, reading);
    return claimCondition(rulePath(at), { name, read: read ?? (() => undefined), predicates });
  });
}

/** The condition that one claim is as its predicates want. */
export function claimCondition(rule: string, claim: ClaimRead): LeafCondition {
  const { name, read, predicates } = claim;
  return leafCondition({
    kind: 'claim',
    rule,
    reason: 'claim.denied',
    unmet: 'refused',
    reads: { claims: [claim] },
    judge({ claims }) {
      const value = read(claims);
      for (const { test } of predicates) if (!test(value)) return 'refused';
      return 'met';
    },
    words: ({ claims }) => ({
      reads: name,
      wanted: `claim ${name}: ${wantedBy(predicates)}`,
      found: describeFound(read(claims), predicates),
    }),
    denialWords({ claims }) {
      const value = read(claims);
      const failed = predicates.find(({ test }) => !test(value));
      const detail = `claim ${name}: wanted ${failed?.wanted}, found ${describeFound(value, predicates)}`;
      return { detail, scope: [] };
    },
  });
}
