import type { ConditionDocument } from '../document.ts';
import { type DocumentPath, type PolicyFault, rulePath } from '../policy-error.ts';
import type { Reading } from '../predicate.ts';
import { type AllCondition, allOf, compileAll } from './all.ts';
import { compileAcr, compileMaxAge } from './authentication.ts';
import { compileAny } from './any.ts';
import { compileClaims } from './claim.ts';
import type { Condition, ConditionContext } from './condition.ts';
import { compileLifetime } from './lifetime.ts';
import { compileNot } from './not.ts';
import { compileScope } from './scope.ts';

type Written = Required<ConditionDocument>;

/** Every key that states a condition, in the order in which they are judged and refusals reported. */
const kinds: {
  readonly [Key in keyof Written]: (written: Written[Key], context: ConditionContext) => readonly Condition[];
} = {
  scope: compileScope,
  acr: compileAcr,
  max_age: compileMaxAge,
  claims: compileClaims,
  any: compileAny,
  all: compileAll,
  not: compileNot,
  max_lifetime: compileLifetime,
};

const order = Object.keys(kinds) as readonly (keyof Written)[];

/**
 * Compiles one policy, nested or not, into the conditions that must all hold. Their order is fixed, whatever the
 * file's, and so is the refusal that is reported if several apply. Appends to `faults` what cannot be compiled.
 *
 * @param reading How values of another type than expected are read.
 */
export function compileCondition(
  document: ConditionDocument,
  path: DocumentPath,
  faults: PolicyFault[],
  reading: Reading = 'direct',
): AllCondition {
  const compile: ConditionContext['compile'] = (inner, at, innerReading) =>
    compileCondition(inner, at, faults, innerReading);
  const parts = order.flatMap((key) =>
    compileKey(key, document[key], { path: [...path, key], faults, reading, compile }),
  );
  return allOf(rulePath(path), parts);
}

function compileKey<Key extends keyof Written>(
  key: Key,
  written: Written[Key] | undefined,
  context: ConditionContext,
): readonly Condition[] {
  return written === undefined ? [] : kinds[key](written, context);
}
