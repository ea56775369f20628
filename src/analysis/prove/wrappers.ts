/**
 * @module Proofs on calls of tools that call other tools, `inner` of entries.
 *
 * Whatever allows such a call allows a direct call of each inner tool with the same arguments: it is decided by all of
 * their conditions. So a property of a tool with `then: deny` includes the ways through wrappers. And a wrapper can be
 * called only if it can call a tool that calls no others: what makes a call of wrappers of wrappers possible makes one
 * without the wrappers between possible.
 */

import { innerKey } from '../../policy-parts/inner/key.ts';
import type { Wrapper } from '../../policy-parts/inner/inner-calls.ts';
import { keysOf } from '../../core/lib/json/pointer.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import type { Rules } from '../../core/policy/decide.ts';
import type { Entry } from '../../core/policy/entry.ts';
import { noParts } from '../../core/policy/entry-part.ts';
import { type CallKind, planFor } from '../../core/policy/plan.ts';
import type { ArgumentCondition } from '../../core/policy/argument.ts';
import { operandsIn, type Predicate } from '../../core/policy/predicate.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import type { PastRule } from '../../policy-parts/history/rules.ts';
import { callsIn, type ExampleCall, type PossibleCall } from './calls.ts';
import { approvalsIn } from './parts.ts';

/** Where calls of a kind name their inner calls; undefined: they have none. */
export function wrapperOf(rules: Rules, kind: CallKind): Wrapper | undefined {
  return innerKey.inPlan(planFor(rules, kind))?.wrapper;
}

/** A call of a wrapper and of one inner tool, as one call with the arguments of the inner tool. */
export interface CallThrough {
  readonly call: PossibleCall;
  /** Undefined: no such tool is known, though there may be one. */
  readonly tool: string | undefined;
}

/**
 * The calls of a wrapper with one inner tool that calls no others. They leave out what restricts the arguments of the
 * wrapper: each call that the gateway allows is among them, and perhaps others.
 *
 * @param described Conditions on the arguments of the wrapper.
 */
export function callsThrough(
  kind: CallKind,
  wrapper: Wrapper,
  rules: Rules,
  described: readonly ArgumentCondition[],
): readonly CallThrough[] {
  const name = namePredicates(wrapper, [...described, ...argumentsOf(kind)]);
  const anyTool = { kind: 'mcp', target: { kind: 'tool', name }, method: undefined } as const;
  return callsIn({ ...anyTool, arguments: [], variables: [] }, [rules]).flatMap(({ when, kinds: [inner] }) => {
    if (inner === undefined || !isListed(inner) || wrapperOf(rules, inner) !== undefined) return [];
    const plan = planFor(rules, kind);
    const isFree = approvalsIn(plan).every((each) => each.arguments.length === 0);
    const outer = entriesOf(kind).map((entry) => withoutArguments(entry, isFree));
    const joined: CallKind = {
      method: inner.method,
      entries: [...entriesOf(inner), ...outer],
      known: new Map([[historyKey, [...pastOf(inner), ...pastOf(kind)]]]),
    };
    return [{ call: { when, kinds: [joined] }, tool: when?.tool }];
  });
}

/** A call of the wrapper that calls a tool with the arguments of an example. */
export function wrapped({ each, name, arguments: args }: Wrapper, outer: ExampleCall, inner: ExampleCall): ExampleCall {
  const place = (value: unknown, pointer: string, inside: unknown): unknown =>
    withMember(inside, keysOf(pointer) ?? [], value);
  let call = place(inner.tool, name.pointer, {});
  if (args !== undefined && inner.arguments !== undefined) call = place(inner.arguments, args.pointer, call);
  const whole = each === undefined ? call : place([call], each.pointer, {});
  return { ...outer, arguments: whole as Readonly<Record<string, unknown>> };
}

function withMember(object: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const members = isObject(object) ? object : {};
  return { ...members, [key]: withMember(members[key], rest, value) };
}

function isListed({ entries }: CallKind): boolean {
  return entries !== undefined && !('reason' in entries);
}

function entriesOf({ entries = [] }: CallKind): readonly Entry[] {
  return 'reason' in entries ? [] : entries;
}

function argumentsOf(kind: CallKind): readonly ArgumentCondition[] {
  return entriesOf(kind).flatMap((entry) => entry.arguments);
}

function pastOf({ known }: CallKind): readonly PastRule[] {
  return (known?.get(historyKey) ?? []) as readonly PastRule[];
}

function withoutArguments(entry: Entry, isFree: boolean): Entry {
  const parts = isFree ? new Map([...entry.parts].filter(([key]) => key !== innerKey && key !== historyKey)) : noParts;
  return { ...entry, arguments: [], parts };
}

/** What conditions on the arguments of a wrapper say of the name of the inner tool, apart from claims. */
function namePredicates({ each, name }: Wrapper, conditions: readonly ArgumentCondition[]): readonly Predicate[] {
  if (each !== undefined) return [];
  const own = conditions.filter(({ pointer }) => pointer === name.pointer);
  return own.flatMap(({ predicates }) => predicates).filter((each) => operandsIn([each]).length === 0);
}
