import { keysOf } from '../../lib/json/pointer.ts';
import type { EarlierCall } from '../../model/history.ts';
import type { HistoryRule, PastRule, QuotaRule } from '../history-rules.ts';
import type { Example } from './examination.ts';

/** The most earlier calls of an example: one with more helps no reader. */
const MAX_CALLS = 1000;
/** The most combinations that are tried. */
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
  { when }: Example,
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
function callsOf(
  rule: PastRule,
  when: Example['when'],
  windows: readonly number[],
): readonly (readonly EarlierCall[])[] {
  const names = rule.tools.flatMap((name) =>
    name.includes('*') ? ['x', '', 'xx'].map((star) => name.replaceAll(/\*+/g, star)) : [name],
  );
  const keys = new Set(rule.same.flatMap(({ pointer }) => keysOf(pointer)?.slice(0, 1) ?? []));
  const own = Object.entries(when.arguments ?? {}).filter(([key]) => keys.has(key));
  return agosWithin(rule, windows).flatMap((ago) =>
    names.map((tool) => [{ tool, ...(own.length > 0 && { arguments: Object.fromEntries(own) }), ago }]),
  );
}

/** Calls of the same kind that use a quota up, all at one time. */
function usingUp(
  rule: QuotaRule,
  when: Example['when'],
  windows: readonly number[],
): readonly (readonly EarlierCall[])[] {
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

/** A copy of an argument object with a value at one place. */
function withMember(object: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(object)) return object.with(Number(key), withMember(object[Number(key)], rest, value));
  const members = (object ?? {}) as Readonly<Record<string, unknown>>;
  return { ...members, [key]: withMember(members[key], rest, value) };
}

/** One choice of each, all of them together, in every combination. */
function combined(choices: readonly (readonly (readonly EarlierCall[])[])[]): readonly (readonly EarlierCall[])[] {
  let found: readonly (readonly EarlierCall[])[] = [[]];
  for (const each of choices)
    found = found.flatMap((calls) => each.map((more) => calls.concat(more))).slice(0, MAX_TRIED);
  return found;
}
