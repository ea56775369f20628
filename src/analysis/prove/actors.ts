import { ensure } from '../../core/lib/remembered.ts';
import { compileClaim } from '../../core/policy/claim.ts';
import type { ActorsRead, Condition } from '../../core/policy/conditions/condition.ts';
import { allOf, anyOf } from '../../core/policy/conditions/groups.ts';
import { claimCondition } from '../../core/policy/conditions/leaves.ts';
import { compilePredicates, operandsIn, type Predicate } from '../../core/policy/predicate.ts';
import { MAX_ACTORS } from '../../ports/actors.ts';

/** One for each condition: proofs remember what they know of it. */
const stated = new WeakMap<ActorsRead, { readonly condition: Condition | undefined }>();

/** A condition on actors as the condition on the claim `act` that states the same; undefined if no claims can. */
export function onClaims(actors: ActorsRead): Condition | undefined {
  return ensure(stated, actors, () => ({ condition: parts[actors.part](actors.predicates) })).condition;
}

const parts: Readonly<Record<ActorsRead['part'], (predicates: readonly Predicate[]) => Condition | undefined>> = {
  count(predicates) {
    if (operandsIn(predicates).length > 0) return undefined;
    const accepted = Array.from({ length: MAX_ACTORS + 1 }, (_, count) => count).filter((count) =>
      predicates.every(({ test }) => test(count)),
    );
    return anyOf(
      '',
      accepted.map((count) => allOf('', [...presence(count - 1, true), ...presence(count, false)])),
    );
  },
  current: (predicates) => allOf('', [...presence(0, true), subjectIs(0, predicates)]),
  each: (predicates) =>
    allOf(
      '',
      subjects.map((_, index) => anyOf('', [...presence(index, false), subjectIs(index, predicates)])),
    ),
};

/** JSON Pointers to the subject of each possible actor. */
const subjects = Array.from({ length: MAX_ACTORS }, (_, index) => `${'/act'.repeat(index + 1)}/sub`);

/** That there is an actor at an index, or none; nothing for an index that no chain has. */
function presence(index: number, isPresent: boolean): readonly Condition[] {
  if (subjects[index] === undefined) return [];
  return [subjectIs(index, compilePredicates({ present: isPresent }, [], []))];
}

function subjectIs(index: number, predicates: readonly Predicate[]): Condition {
  const name = subjects[index] ?? '';
  return claimCondition('', { name, read: compileClaim(name, [], []), predicates });
}
