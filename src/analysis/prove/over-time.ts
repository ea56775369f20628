/**
 * @module Rules over time in proofs: what a rule needs of a call, what earlier calls may make of rules, and examples of
 * such calls.
 */

import { unreachable, keysOf } from '../../core/lib/json/pointer.ts';
import type { EarlierCall } from '../../policy-files/policy-tests.ts';
import { isName } from '../../core/model/caller-key.ts';
import type { PolicyReason } from '../../core/model/reasons.ts';
import {
  amountOf,
  type HistoryRule,
  isOwnerName,
  type PastRule,
  type QuotaRule,
} from '../../policy-parts/history/rules.ts';
import type { ArgumentCondition } from '../../core/policy/argument.ts';
import { allOf, anyOf } from '../../core/policy/conditions/groups.ts';
import { claimCondition } from '../../core/policy/conditions/leaves.ts';
import type { Condition } from '../../core/policy/conditions/condition.ts';
import type { Operand, Predicate } from '../../core/policy/predicate.ts';
import type { ExampleCall } from './calls.ts';
import { type Formula, and, atom, or } from './formula.ts';
import { nameKinds } from './names.ts';
import type { Space } from './space.ts';

interface Counting {
  /** Without it no owner is known, and the call is refused; none for a rule that counts all calls together. */
  readonly owner: readonly Condition[];
  /** Without them the call cannot be counted, and is refused. */
  readonly countable: readonly ArgumentCondition[];
  /** Without them no earlier call makes a difference: no value can be the same, or nothing is added to a sum. */
  readonly comparable: readonly ArgumentCondition[];
}

/** The conditions on a call that a rule over time needs. */
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

function ownerIn({ rule, owner: { by, claim } }: HistoryRule): readonly Condition[] {
  if (claim !== undefined) {
    const name = predicate({ kind: 'integer' }, isOwnerName);
    return [claimCondition(rule, { name: by, read: claim, predicates: [name] })];
  }
  const on = (name: string, test: (value: unknown) => boolean): Condition =>
    claimCondition(rule, { name, read: ({ [name]: value }) => value, predicates: [predicate(present, test)] });
  // A description without `sub` is of a caller with a subject.
  if (by === 'subject') return [on('sub', (value) => value === undefined || typeof value === 'string')];
  if (by !== 'client' && by !== 'actor') return [];
  const isAbsent = (value: unknown): boolean => value === undefined;
  const [first, second] = [on('client_id', isAbsent), on('azp', isAbsent)];
  const actor = by === 'actor' ? [on('act', (value) => value !== undefined)] : [];
  return [
    anyOf(rule, [
      ...actor,
      on('client_id', isName),
      allOf(rule, [first, on('azp', isName)]),
      allOf(rule, [first, second, anyOf(rule, [on('appid', isName), on('cid', isName)])]),
    ]),
  ];
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

/** The effects of earlier calls on rules over time: any of the rules may be the first that refuses, or none. */
export interface Histories {
  /** Holds where all rules are met. */
  readonly met: Formula;
  /** For each rule where it is the first that refuses. */
  readonly refusals: readonly { readonly reason: PolicyReason; readonly rule: string; readonly when: Formula }[];
  /** Holds where there can be such earlier calls. */
  readonly constraint: Formula;
  /** Holds where a rule is the first that refuses; undefined: where all are met. */
  readonly refusedBy: (rule: HistoryRule | undefined) => Formula;
  /** The first rule that refuses, where each variable has one class; undefined: all are met. */
  readonly refusing: (classes: readonly number[]) => HistoryRule | undefined;
}

/** Earlier calls are not looked at: every rule over time is met. */
export const noHistories: Histories = {
  met: true,
  refusals: [],
  constraint: true,
  refusedBy: () => true,
  refusing: () => undefined,
};

/** All that earlier calls may make of some rules, in the order in which they are judged. */
export function historiesOf(rules: readonly HistoryRule[], space: Space): Histories {
  if (rules.length === 0) return noHistories;
  // Without earlier calls, the first `after` refuses: the simplest class.
  const withoutCalls = rules.find(({ kind }) => kind === 'after');
  const outcomes = [withoutCalls, ...[...rules, undefined].filter((each) => each !== withoutCalls)];
  const variable = space.variables.add(outcomes.length);
  const refusedBy = (rule: HistoryRule | undefined): Formula => atom(variable, 1n << BigInt(outcomes.indexOf(rule)));
  const comparable = (rule: HistoryRule): Formula => and(countingOf(rule).comparable.map((each) => space.metBy(each)));
  // `after` needs a value that can be the same in order to be met, and all others in order to refuse.
  const possible = (refusing: HistoryRule | undefined): Formula => {
    const earlier = rules.slice(0, refusing === undefined ? rules.length : rules.indexOf(refusing));
    const met = earlier.filter(({ kind }) => kind === 'after').map(comparable);
    return and(refusing === undefined || refusing.kind === 'after' ? met : [...met, comparable(refusing)]);
  };
  return {
    met: refusedBy(undefined),
    refusals: rules.map((rule) => ({ reason: rule.denial.reason, rule: rule.rule, when: refusedBy(rule) })),
    constraint: or(outcomes.map((refusing) => and([refusedBy(refusing), possible(refusing)]))),
    refusedBy,
    refusing: (classes) => outcomes[classes[variable.index] ?? 0],
  };
}

/** The most earlier calls of an example: one with more helps no reader. */
const MAX_CALLS = 1000;
const MAX_TRIED = 500;

/**
 * Earlier calls after which a call is decided in a wanted way.
 *
 * @param rules The rules over time that decide the call, in their order.
 * @param refusing The first of them that is to refuse the call; undefined: all are to be met.
 * @param isWanted Whether the call is so decided after some calls.
 * @returns undefined if none are found, which is no proof that there are none.
 */
export function earlierCalls(
  rules: readonly HistoryRule[],
  refusing: HistoryRule | undefined,
  when: ExampleCall,
  isWanted: (earlier: readonly EarlierCall[]) => boolean,
): readonly EarlierCall[] | undefined {
  const met = rules.slice(0, refusing === undefined ? rules.length : rules.indexOf(refusing));
  const needed = met.filter(({ kind }) => kind === 'after');
  if (refusing !== undefined && refusing.kind !== 'after') needed.push(refusing);
  const windows = rules.map(({ windowMs }) => windowMs);
  const choices = needed.map((rule) =>
    rule.kind === 'quota' ? usingUp(rule, when, windows) : callsOf(rule, when, windows),
  );
  return combined(choices).find(isWanted);
}

/** Calls that a rule looks back at, each alone. */
function callsOf(rule: PastRule, when: ExampleCall, windows: readonly number[]): readonly (readonly EarlierCall[])[] {
  const names = [...new Set(rule.names.flatMap((name) => nameKinds[rule.target].samplesOf(name)))];
  const keys = new Set(rule.same.flatMap(({ pointer }) => keysOf(pointer)?.slice(0, 1) ?? []));
  const own = Object.entries(when.arguments ?? {}).filter(([key]) => keys.has(key));
  return agosWithin(rule, windows).flatMap((ago) =>
    names.map((name) => [{ [rule.target]: name, ...(own.length > 0 && { arguments: Object.fromEntries(own) }), ago }]),
  );
}

/** Calls of the same kind that use a quota up, all at one time. */
function usingUp(rule: QuotaRule, when: ExampleCall, windows: readonly number[]): readonly (readonly EarlierCall[])[] {
  const { sum, units } = rule;
  if (sum === undefined && units.limit > MAX_CALLS) return [];
  const args =
    sum === undefined ? when.arguments : withMember(when.arguments ?? {}, keysOf(sum.pointer) ?? [], sum.most);
  const { template: _, ...target } = when;
  return agosWithin(rule, windows).map((ago) => {
    const call = { ...target, ...(args !== undefined && { arguments: args as Record<string, unknown> }), ago };
    return Array.from({ length: sum === undefined ? units.limit : 1 }, () => call);
  });
}

/** Times within a window: one that is in all windows, and one for each shorter window that is outside of that one. */
function agosWithin({ windowMs }: HistoryRule, windows: readonly number[]): readonly string[] {
  const shorter = [...new Set(windows)].filter((each) => each < windowMs).toSorted((one, other) => one - other);
  return ['0s', ...shorter.map((each) => `${each}ms`)];
}

function withMember(object: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(object)) return object.with(Number(key), withMember(object[Number(key)], rest, value));
  const members = (object ?? {}) as Readonly<Record<string, unknown>>;
  return { ...members, [key]: withMember(members[key], rest, value) };
}

/** The combinations of one choice of each, all of them together. */
function combined(choices: readonly (readonly (readonly EarlierCall[])[])[]): readonly (readonly EarlierCall[])[] {
  let found: readonly (readonly EarlierCall[])[] = [[]];
  for (const each of choices)
    found = found.flatMap((calls) => each.map((more) => calls.concat(more))).slice(0, MAX_TRIED);
  return found;
}
