import { describeValue } from '../../lib/json/describe-value.ts';
import type { Actor, Principal } from '../../model/principal.ts';
import { MAX_ACTORS } from '../../model/caller-key.ts';
import { compileClaim } from '../claim.ts';
import { type ActorsDocument, rulePath, type ValueDocument } from '../document.ts';
import { compilePredicates, describeFound, operandsIn, type Predicate, wantedBy } from '../predicate.ts';
import { type Condition, type ConditionContext, type LeafCondition, leafCondition } from './condition.ts';
import { allOf, anyOf } from './groups.ts';
import { claimCondition } from './leaves.ts';

type Actors = readonly Actor[];

/** A member of `actors`. */
interface ActorPart {
  /** What it reads, in words. */
  readonly name: string;
  readonly isMet: (actors: Actors, predicates: readonly Predicate[], principal: Principal) => boolean;
  /** What its predicates are applied to; empty: there is no actor. */
  readonly values: (actors: Actors) => readonly unknown[];
  /** The same condition on the claim `act`; undefined if no claims can state it. */
  readonly onClaims: (predicates: readonly Predicate[]) => Condition | undefined;
}

const parts: { readonly [Key in keyof Required<ActorsDocument>]: ActorPart } = {
  count: {
    name: 'the number of actors',
    isMet: ({ length }, predicates, principal) => allHold(predicates, length, principal),
    values: ({ length }) => [length],
    onClaims(predicates) {
      if (operandsIn(predicates).length > 0) return undefined;
      const accepted = Array.from({ length: MAX_ACTORS + 1 }, (_, count) => count).filter((count) =>
        predicates.every(({ test }) => test(count)),
      );
      return anyOf(
        '',
        accepted.map((count) => allOf('', [...presence(count - 1, true), ...presence(count, false)])),
      );
    },
  },
  current: {
    name: 'the current actor',
    isMet: ([current], predicates, principal) =>
      current !== undefined && allHold(predicates, current.subject, principal),
    values: (actors) => actors.slice(0, 1).map(({ subject }) => subject),
    onClaims: (predicates) => allOf('', [...presence(0, true), subjectIs(0, predicates)]),
  },
  each: {
    name: 'each actor',
    isMet(actors, predicates, principal) {
      for (const { subject } of actors) if (!allHold(predicates, subject, principal)) return false;
      return true;
    },
    values: (actors) => actors.map(({ subject }) => subject),
    onClaims: (predicates) =>
      allOf(
        '',
        subjects.map((_, index) => anyOf('', [...presence(index, false), subjectIs(index, predicates)])),
      ),
  },
};

const order = Object.keys(parts) as readonly (keyof ActorsDocument)[];

/** `actors`: the parties that act for the subject are as predicates want, RFC 8693 §4.1. */
export function compileActors(written: ActorsDocument, context: ConditionContext): readonly LeafCondition[] {
  return order.flatMap((key) => {
    const value = written[key];
    return value === undefined ? [] : [actorCondition(parts[key], value, { ...context, path: [...context.path, key] })];
  });
}

const noActors: Actors = [];

function actorCondition(
  { name, isMet, values, onClaims }: ActorPart,
  value: ValueDocument,
  { path, faults, reading }: ConditionContext,
): LeafCondition {
  const predicates = compilePredicates(value, path, faults, reading);
  return leafCondition({
    kind: 'actors',
    rule: rulePath(path),
    reason: 'actor.denied',
    unmet: 'refused',
    reads: { actors: { predicates, onClaims: onClaims(predicates) } },
    judge: (principal) => (isMet(principal.actors ?? noActors, predicates, principal) ? 'met' : 'refused'),
    words(principal) {
      const found = values(principal.actors ?? noActors);
      const failed = found.find((each) => !allHold(predicates, each, principal));
      return {
        wanted: `${name}: ${wantedBy(predicates, { caller: principal, show: describeValue })}`,
        found: failed === undefined ? inWords(found) : describeFound(failed, predicates, principal),
      };
    },
  });
}

function allHold(predicates: readonly Predicate[], value: unknown, principal: Principal): boolean {
  for (const { test } of predicates) if (!test(value, principal)) return false;
  return true;
}

function inWords(found: readonly unknown[]): string {
  return found.length === 0 ? 'no actor' : found.map(describeValue).join(', ');
}

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
