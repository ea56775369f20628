import { describeValue } from '../../lib/json/describe-value.ts';
import type { Actor, Principal } from '../../model/principal.ts';
import { type ActorsDocument, rulePath, type ValueDocument } from '../document.ts';
import { compilePredicates, describeFound, type Predicate, wantedBy } from '../predicate.ts';
import { type ConditionContext, type LeafCondition, leafCondition } from './condition.ts';

type Actors = readonly Actor[];

/** A member of `actors`. */
interface ActorPart {
  /** What it reads, in words. */
  readonly name: string;
  readonly isMet: (actors: Actors, predicates: readonly Predicate[], principal: Principal) => boolean;
  /** What its predicates are applied to; empty: there is no actor. */
  readonly values: (actors: Actors) => readonly unknown[];
}

const parts: { readonly [Key in keyof Required<ActorsDocument>]: ActorPart } = {
  count: {
    name: 'the number of actors',
    isMet: ({ length }, predicates, principal) => allHold(predicates, length, principal),
    values: ({ length }) => [length],
  },
  current: {
    name: 'the current actor',
    isMet: ([current], predicates, principal) =>
      current !== undefined && allHold(predicates, current.subject, principal),
    values: (actors) => actors.slice(0, 1).map(({ subject }) => subject),
  },
  each: {
    name: 'each actor',
    isMet(actors, predicates, principal) {
      for (const { subject } of actors) if (!allHold(predicates, subject, principal)) return false;
      return true;
    },
    values: (actors) => actors.map(({ subject }) => subject),
  },
};

const order = Object.keys(parts) as readonly (keyof ActorsDocument)[];

/** `actors`: the parties that act for the subject are as predicates want, RFC 8693 §4.1. */
export function compileActors(written: ActorsDocument, context: ConditionContext): readonly LeafCondition[] {
  return order.flatMap((key) => {
    const value = written[key];
    return value === undefined ? [] : [actorCondition(key, value, { ...context, path: [...context.path, key] })];
  });
}

const noActors: Actors = [];

function actorCondition(
  part: keyof ActorsDocument,
  value: ValueDocument,
  { path, faults, reading }: ConditionContext,
): LeafCondition {
  const { name, isMet, values } = parts[part];
  const predicates = compilePredicates(value, path, faults, reading);
  return leafCondition({
    kind: 'actors',
    rule: rulePath(path),
    reason: 'actor.denied',
    unmet: 'refused',
    reads: { actors: { part, predicates } },
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
