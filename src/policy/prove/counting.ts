import { claimReader, unreachable } from '../../lib/json/pointer.ts';
import { amountOf } from '../amount.ts';
import { claimCondition } from '../conditions/claim.ts';
import type { LeafCondition } from '../conditions/condition.ts';
import type { ArgumentCondition } from '../argument.ts';
import { isOwnerName } from '../history-owner.ts';
import type { HistoryRule } from '../history-rules.ts';
import type { Operand, Predicate } from '../predicate.ts';

/** What a rule over time needs of a call. */
export interface Counting {
  /** Without it no owner is known, and the call is refused; none for a rule that counts all calls together. */
  readonly owner: readonly LeafCondition[];
  /** Without them the call cannot be counted, and is refused. */
  readonly countable: readonly ArgumentCondition[];
  /** Without them no earlier call makes a difference: no value can be the same, or nothing is added to a sum. */
  readonly comparable: readonly ArgumentCondition[];
}

/**
 * The claims that name the owners which are no claims of a policy, and whether a described caller has such an owner. A
 * description without `sub` is of a caller with a subject.
 */
const registered: Readonly<Record<string, { readonly name: string; isNamed: (value: unknown) => boolean }>> = {
  subject: { name: 'sub', isNamed: (value) => value === undefined || typeof value === 'string' },
  client: { name: 'client_id', isNamed: (value) => typeof value === 'string' },
};

/** What a rule over time needs of a call, as conditions. */
export function countingOf(rule: HistoryRule): Counting {
  const on = ({ pointer, read }: Pick<ArgumentCondition, 'pointer' | 'read'>, predicates: readonly Predicate[]) => {
    return { rule: rule.rule, pointer, read, predicates };
  };
  const owner = ownerIn(rule);
  if (rule.kind !== 'quota') {
    return {
      owner,
      countable: rule.same.map((each) =>
        on(each, [predicate(present, (value) => !isPresent(value) || isScalar(value))]),
      ),
      // An earlier call whose values cannot be compared forbids every later one.
      comparable: rule.kind === 'after' ? rule.same.map((each) => on(each, [predicate(present, isPresent)])) : [],
    };
  }
  const { sum, units } = rule;
  if (sum === undefined) return { owner, countable: [], comparable: [] };
  const { isInteger: integer, most } = sum;
  const at = (bound: number): Operand => ({ kind: 'bound', bound, integer });
  const unitsOf = (value: unknown): number => {
    const amount = amountOf(value, integer);
    return amount === undefined ? Number.NaN : units.of(amount);
  };
  return {
    owner,
    countable: [
      on(sum, [
        predicate(at(0), (value) => unitsOf(value) >= 0),
        predicate(at(most), (value) => unitsOf(value) <= units.limit),
      ]),
    ],
    comparable: [on(sum, [predicate(at(0), (value) => unitsOf(value) > 0)])],
  };
}

function ownerIn({ rule, owner: { by, claim } }: HistoryRule): readonly LeafCondition[] {
  if (claim !== undefined) {
    const name = predicate({ kind: 'integer' }, isOwnerName);
    return [claimCondition(rule, { name: by, read: claim, predicates: [name] })];
  }
  const known = registered[by];
  const read = known === undefined ? undefined : claimReader(known.name);
  if (known === undefined || read === undefined) return [];
  return [claimCondition(rule, { name: known.name, read, predicates: [predicate(present, known.isNamed)] })];
}

const present: Operand = { kind: 'presence' };

/** A predicate that no policy writes, which can tell apart what `operand` says. */
function predicate(operand: Operand, test: (value: unknown) => boolean): Predicate {
  return { wanted: '', operand, test };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' && value !== unreachable;
}
