import { type Condition, type GroupCondition, isGroup, type Verdict } from '../conditions/condition.ts';
import { type Formula, and, not, or } from './formula.ts';
import type { Space } from './space.ts';

/** For each verdict on a condition, when it is given. Exactly one of them is. */
export type Verdicts = Readonly<Record<Verdict, Formula>>;

/** What was found in each space: parts of formulas are shared. */
const known = new WeakMap<Space, Map<Condition, Verdicts>>();

/** When `judge` (`policy/conditions`) gives which verdict on a condition. */
export function verdictsOn(condition: Condition, space: Space): Verdicts {
  const own = known.get(space) ?? new Map<Condition, Verdicts>();
  known.set(space, own);
  const before = own.get(condition);
  if (before !== undefined) return before;
  const found = verdictsIn(condition, space);
  own.set(condition, found);
  return found;
}

/** When a group has which verdict. */
const groups: Readonly<Record<GroupCondition['kind'], (parts: readonly Verdicts[]) => Verdicts>> = {
  all: verdictsOnAll,
  any: verdictsOnAny,
  not: verdictsOnNot,
};

function verdictsIn(condition: Condition, space: Space): Verdicts {
  if (isGroup(condition)) return groups[condition.kind](condition.parts.map((part) => verdictsOn(part, space)));
  const met = space.met(condition);
  return { ...never, met, [condition.unmet]: not(met) };
}

const never: Verdicts = { met: false, lifetime: false, scope: false, refused: false };

/** The gravest verdict of conditions that must all hold. */
export function verdictsOnAll(parts: readonly Verdicts[]): Verdicts {
  const withoutRefusal = parts.map(({ refused }) => not(refused));
  return {
    met: and(parts.map(({ met }) => met)),
    lifetime: and([
      ...parts.map(({ met, lifetime }) => or([met, lifetime])),
      or(parts.map(({ lifetime }) => lifetime)),
    ]),
    scope: and([...withoutRefusal, or(parts.map(({ scope }) => scope))]),
    refused: or(parts.map(({ refused }) => refused)),
  };
}

/** `met` if an alternative is, else `scope` or `lifetime` if one is. */
function verdictsOnAny(parts: readonly Verdicts[]): Verdicts {
  return {
    met: or(parts.map(({ met }) => met)),
    lifetime: and([...parts.map(({ lifetime, refused }) => or([lifetime, refused])), or(parts.map((p) => p.lifetime))]),
    scope: and([...parts.map(({ met }) => not(met)), or(parts.map(({ scope }) => scope))]),
    refused: and(parts.map(({ refused }) => refused)),
  };
}

function verdictsOnNot(parts: readonly Verdicts[]): Verdicts {
  const met = and(parts.map((part) => part.met));
  return { ...never, met: not(met), refused: met };
}
