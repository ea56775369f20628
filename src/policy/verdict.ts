import type { Principal } from '../model/principal.ts';
import type { Condition } from './condition.ts';

/**
 * What a condition says of a caller. `scope`: only scopes are missing, which a new token could bring (and with it a new
 * lifetime). `lifetime`: only the token lives too long. `refused`: no scope could mend it.
 */
export type Verdict = 'met' | 'lifetime' | 'scope' | 'refused';

const gravity: Readonly<Record<Verdict, number>> = { met: 0, lifetime: 1, scope: 2, refused: 3 };

/** The verdict on two conditions that must both hold. A refusal hides a missing scope: a challenge for it would loop. */
export function graver(one: Verdict, other: Verdict): Verdict {
  return gravity[one] >= gravity[other] ? one : other;
}

/**
 * Decides one condition. Allocates nothing, so that the words for a denial are found by walking it again.
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
  // A negative lifetime is a server's mistake, and no proof that the token is short-lived.
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

/** One alternative decides: a met one, else the first that lacks only scopes, else the first that only lives too long. */
function judgeAny(alternatives: readonly Condition[], principal: Principal): Verdict {
  let verdict: Verdict = 'refused';
  for (const alternative of alternatives) {
    const other = judge(alternative, principal);
    if (other === 'met') return other;
    if (other === 'scope' || verdict === 'refused') verdict = other;
  }
  return verdict;
}
