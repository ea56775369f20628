import type { Condition } from '../condition.ts';
import type { Verdict } from '../verdict.ts';
import { type Formula, and, not, or } from './formula.ts';
import type { Space } from './space.ts';

/** For each verdict on a condition, when it is given. Exactly one of them is. */
export type Verdicts = Readonly<Record<Verdict, Formula>>;

/** What was found in each space: parts of formulas are shared. */
const known = new WeakMap<Space, Map<Condition, Verdicts>>();

/** When `judge` (`policy/verdict.ts`) gives which verdict on a condition. */
export function verdictsOn(condition: Condition, space: Space): Verdicts {
  const own = known.get(space) ?? new Map<Condition, Verdicts>();
  known.set(space, own);
  const before = own.get(condition);
  if (before !== undefined) return before;
  const found = verdictsIn(condition, space);
  own.set(condition, found);
  return found;
}

function verdictsIn(condition: Condition, space: Space): Verdicts {
  switch (condition.kind) {
    case 'all':
      return verdictsOnAll(condition.conditions.map((each) => verdictsOn(each, space)));
    case 'any':
      return verdictsOnAny(condition.alternatives.map((each) => verdictsOn(each, space)));
    case 'not': {
      const { met } = verdictsOn(condition.condition, space);
      return { ...never, met: not(met), refused: met };
    }
    case 'scope':
      return unless('scope', space.met(condition));
    case 'claim':
      return unless('refused', space.met(condition));
    case 'lifetime':
      return unless('lifetime', space.met(condition));
  }
}

const never: Verdicts = { met: false, lifetime: false, scope: false, refused: false };

function unless(verdict: Verdict, met: Formula): Verdicts {
  return { ...never, met, [verdict]: not(met) };
}

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
