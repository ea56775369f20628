import { type ConditionDocument, type DocumentPath, type PolicyFault, rulePath } from '../document.ts';
import { type Reading, underNot } from '../predicate.ts';
import { compileActors } from './actors.ts';
import type { Condition, ConditionContext } from './condition.ts';
import { type AllCondition, allOf, anyOf, notOf } from './groups.ts';
import { compileAcr, compileClaims, compileLifetime, compileMaxAge, compileScope } from './leaves.ts';

type Written = Required<ConditionDocument>;
type Compiled = Condition | readonly Condition[];

/** Every key that states a condition, in the order in which they are judged and refusals reported. */
const kinds: { readonly [Key in keyof Written]: (written: Written[Key], context: ConditionContext) => Compiled } = {
  scope: compileScope,
  acr: compileAcr,
  max_age: compileMaxAge,
  claims: compileClaims,
  actors: compileActors,
  any: (written, context) => anyOf(rulePath(context.path), compileList(written, context)),
  all: (written, context) => allOf(rulePath(context.path), compileList(written, context)),
  not: (written, { path, faults, reading }) =>
    notOf(rulePath(path), compileCondition(written, path, faults, underNot(reading))),
  max_lifetime: compileLifetime,
};

const order = Object.keys(kinds) as readonly (keyof Written)[];

/** The keys of conditions. */
export const conditionKeys: readonly string[] = order;

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
  const parts = order.flatMap((key) => compileKey(key, document[key], { path: [...path, key], faults, reading }));
  return allOf(rulePath(path), parts);
}

function compileKey<Key extends keyof Written>(
  key: Key,
  written: Written[Key] | undefined,
  context: ConditionContext,
): Compiled {
  return written === undefined ? [] : kinds[key](written, context);
}

function compileList(
  written: readonly ConditionDocument[],
  { path, faults, reading }: ConditionContext,
): readonly AllCondition[] {
  return written.map((document, index) => compileCondition(document, [...path, index], faults, reading));
}
