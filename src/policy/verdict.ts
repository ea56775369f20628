import type { Principal } from '../model/principal.ts';
import type { Condition } from './condition.ts';

/**
 * The result of a condition for a caller. `scope`: only scopes are missing, which a new token could have (and with it a
 * new lifetime). `lifetime`: only the token lives too long. `refused`: no scope would help.
 */
export type Verdict = 'met' | 'lifetime' | 'scope' | 'refused';

const gravity: Readonly<Record<Verdict, number>> = { met: 0, lifetime: 1, scope: 2, refused: 3 };

/**
 * The verdict on two conditions that must both hold. A refusal hides a missing scope: a challenge for it would loop.
 */
export function graver(one: Verdict, other: Verdict): Verdict {
  return gravity[one] >= gravity[other] ? one : other;
}

/**
 * Judges one condition. It allocates nothing: `policyDenial` walks the condition again to put a denial into words.
 *
 * @throws whatever a predicate throws: it must not turn into a verdict that a `not` would invert.
 */
export function judge(condition: Condition, principal: Principal): Verdict {
  switch (condition.kind) {
    case 'scope':
      for (const scope of condition.scopes) if (!principal.scopes.has(scope)) return 'scope';
      return 'met';
    case 'claim': {
      const found = condition.read(principal.claims);
      for (const predicate of condition.predicates) if (!predicate.test(found)) return 'refused';
      return 'met';
    }
    case 'lifetime':
      return livesAtMost(condition.seconds, principal) ? 'met' : 'lifetime';
    case 'all':
      return judgeAll(condition.conditions, principal);
    case 'any':
      return judgeAny(condition.alternatives, principal);
    case 'not':
      return judge(condition.condition, principal) === 'met' ? 'refused' : 'met';
    default:
      throw new TypeError(`${String(condition satisfies never)} is not a condition`);
  }
}

function livesAtMost(seconds: number, { expiresAt, issuedAt }: Principal): boolean {
  if (expiresAt === undefined || issuedAt === undefined) return false;
  const lifetime = expiresAt - issuedAt;
  // A negative lifetime is a mistake of the server and does not prove that the token is short-lived.
  return lifetime >= 0 && lifetime <= seconds;
}

function judgeAll(conditions: readonly Condition[], principal: Principal): Verdict {
  let verdict: Verdict = 'met';
  for (const condition of conditions) {
    verdict = graver(verdict, judge(condition, principal));
    if (verdict === 'refused') return verdict;
  }
  return verdict;
}

/**
 * `met` if an alternative is met, else `scope` or `lifetime` if one has that verdict, in this order, else `refused`.
 */
function judgeAny(alternatives: readonly Condition[], principal: Principal): Verdict {
  let verdict: Verdict = 'refused';
  for (const alternative of alternatives) {
    const other = judge(alternative, principal);
    if (other === 'met') return other;
    if (other === 'scope' || verdict === 'refused') verdict = other;
  }
  return verdict;
}
