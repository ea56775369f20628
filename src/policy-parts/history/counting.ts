/**
 * @module Rules over time, `docs/over-time.md`. The policy says which earlier calls count for a call, and what the call
 * counts for later ones. What was counted is not known here: `history/` keeps it.
 */

import { plainNumber } from '../../core/lib/json/canonical.ts';
import { unreachable } from '../../core/lib/json/pointer.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import type { CallHistory, HistoryCheck, HistoryRecord } from './call-history.ts';
import { listedKinds } from '../../core/model/mcp.ts';
import { argumentsOf, type Attempt, type Explanation, unknownArguments } from '../../core/model/policy.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { CallArgument } from '../../core/policy/argument.ts';
import { amountOf, type HistoryRule, type PastRule, type QuotaRule } from './rules.ts';
import { kindOf } from '../../core/lib/json/describe-value.ts';
import type { Entry } from '../../core/policy/entry.ts';
import type { Listing } from '../../core/policy/listing.ts';
import type { PolicyFault, Scalar } from '../../core/policy/document.ts';
import { otherMemberOf } from '../../core/policy/plan.ts';

/** Reports calls that rules look back at and that the policy never allows: none of them can come before. */
export function checkPast(
  listing: Listing,
  historyIn: (entry: Entry) => readonly HistoryRule[],
  faults: PolicyFault[],
): void {
  for (const entry of listing.entries) {
    const { key, name } = entry;
    for (const { kind, target, names } of historyIn(entry).filter((rule) => rule.kind !== 'quota')) {
      const find = listing[target];
      const unlisted = names.find((each) => find === undefined || (!each.includes('*') && find(each) === undefined));
      if (unlisted === undefined) continue;
      const { key: lists } = listedKinds[target];
      const message = `looks back at ${JSON.stringify(unlisted)}, which ${lists} does not list; list it there`;
      faults.push({ path: [key, name, kind, target], message });
    }
  }
}

interface CallCount {
  /** The tracks that its rule looks at; none if no earlier call can be the same. */
  readonly tracks: readonly string[];
  readonly amount: number;
}

/**
 * The denial of a call that a rule over time cannot count: its caller or its arguments lack what the rule needs.
 *
 * @throws where an argument cannot be read.
 */
export function countingDenial(rule: HistoryRule, principal: Principal, args: unknown): PolicyDenial | undefined {
  const counted = count(rule, principal, args);
  return counted !== 'unknown' && 'reason' in counted ? counted : undefined;
}

/**
 * The denial of a call that a rule looks back at, if it has no owner: it would be missing in the history. Such a call
 * needs nothing else.
 */
export function ownerDenial(rule: HistoryRule, principal: Principal): PolicyDenial | undefined {
  return rule.owner.of(principal) === undefined ? withoutOwner(rule, principal) : undefined;
}

/** A rule over time, as far as the call alone decides it: what depends on earlier calls is `unknown`. */
export function explainRule(rule: HistoryRule, principal: Principal, args: unknown): Explanation {
  const { wanted } = rule;
  const base = { rule: rule.rule, kind: 'history', wanted, parts: [] } as const;
  try {
    const counted = count(rule, principal, args);
    if (counted === 'unknown') return { ...base, outcome: 'unknown', found: 'unknown' };
    if ('reason' in counted) return { ...base, outcome: 'fails', found: counted.detail };
    if (counted.tracks.length > 0) return { ...base, outcome: 'unknown', found: 'unknown' };
    return { ...base, outcome: 'fails', found: 'no value that could be the same' };
  } catch {
    return { ...base, outcome: 'error', found: 'an argument that cannot be read' };
  }
}

/** The rules over time that concern calls of one kind. */
export interface CountingRules {
  /** The rules that a call must meet. */
  readonly own: readonly HistoryRule[];
  /** The rules of the policy that look back at calls of tools. */
  readonly past: readonly PastRule[];
  /** Whether a call passes, and is counted, whatever the rules say. */
  readonly isShadow: boolean;
  /** Whether it is an inner call: then it meets no `after` of a later call. Default: false. */
  readonly isInner?: boolean | undefined;
}

/** The meaning of a call for rules over time; undefined if none concerns it. */
export function callHistory(
  { own, past, isShadow, isInner = false }: CountingRules,
  principal: Principal,
  attempt: Attempt,
  exact?: () => unknown,
): CallHistory | undefined {
  const covering = past.filter(({ kind, covers }) => !(isInner && kind === 'after') && covers(attempt));
  const args = argumentsOf(attempt);
  if (own.length === 0 && covering.length === 0) return undefined;
  const checks: HistoryCheck[] = [];
  const records = new Map<string, HistoryRecord>();
  const unknown = new Set<string>();
  const record = ({ windowMs: keepMs }: HistoryRule, track: string, amount: number): void => {
    // Rules that look at the same calls share a track: each call is recorded there once.
    records.set(track, { track, amount, keepMs });
  };
  for (const rule of own) {
    const counted = countInShadow(rule, principal, args, exact);
    if (counted === 'unknown') unknown.add(rule.rule);
    if (counted === undefined || counted === 'unknown') continue;
    checks.push(...checksOf(rule, counted));
    if (rule.kind === 'quota') for (const track of counted.tracks) record(rule, track, counted.amount);
  }
  for (const rule of covering) {
    const owner = rule.owner.of(principal);
    if (owner === undefined) continue;
    if (isUnknown(rule, args)) {
      unknown.add(rule.rule);
      continue;
    }
    const track = recordedTrack(rule, owner, attempt, exact);
    if (track !== undefined) record(rule, track, 0);
  }
  return { checks, records: [...records.values()], unknown: [...unknown], isShadow };
}

/**
 * The meaning of a call and its inner calls, as one: they are judged and counted together. What one of them uses of a
 * quota is no longer there for the next, and `never_after` sees those before.
 *
 * @param parts The call itself first, then its inner calls in their order. `tool`: the inner tool.
 */
export function joinedHistory(
  parts: readonly { readonly history: CallHistory; readonly tool: string | undefined }[],
): CallHistory | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const checks = new Map<string, HistoryCheck>();
  const records = new Map<string | undefined, HistoryRecord>();
  const note = (check: HistoryCheck): void => {
    // The check of one track by the call that needs most of it says all of the earlier ones.
    checks.set(lengthPrefixed([check.kind, check.rule, check.track ?? '']), check);
  };
  for (const { history, tool } of parts) {
    for (const each of history.checks) {
      const check = tool === undefined ? each : { ...each, denial: { ...each.denial, tool } };
      const before = records.get(each.track);
      if (each.kind === 'quota') note({ ...check, amount: each.amount + (before?.amount ?? 0) });
      else if (each.kind === 'never_after' && before !== undefined) note({ ...check, isBroken: true });
      else if (!checks.has(lengthPrefixed([each.kind, each.rule, each.track ?? '']))) note(check);
    }
    for (const { track, amount, keepMs } of history.records) {
      const before = records.get(track);
      records.set(track, { track, amount: amount + (before?.amount ?? 0), keepMs });
    }
  }
  return {
    checks: [...checks.values()],
    records: [...records.values()],
    unknown: [...new Set(parts.flatMap(({ history }) => history.unknown))],
    isShadow: first.history.isShadow,
  };
}

function checksOf(rule: HistoryRule, { tracks, amount }: CallCount): readonly HistoryCheck[] {
  const { kind, rule: path, windowMs, denial } = rule;
  const { limit, decimals } = rule.kind === 'quota' ? rule.units : { limit: 0, decimals: 0 };
  const check = { kind, rule: path, windowMs, amount, limit, decimals, denial };
  return tracks.length === 0 ? [{ ...check, track: undefined }] : tracks.map((track) => ({ ...check, track }));
}

/** {@link count}; undefined where the policy would refuse the call if it were not in shadow mode. */
function countInShadow(
  rule: HistoryRule,
  principal: Principal,
  args: unknown,
  exact: (() => unknown) | undefined,
): CallCount | 'unknown' | undefined {
  try {
    const counted = count(rule, principal, args, exact);
    return counted !== 'unknown' && 'reason' in counted ? undefined : counted;
  } catch {
    return undefined;
  }
}

/** The meaning of a call for a rule; `unknown`: it depends on arguments that were not recorded. */
function count(
  rule: HistoryRule,
  principal: Principal,
  args: unknown,
  exact?: () => unknown,
): CallCount | PolicyDenial | 'unknown' {
  const owner = rule.owner.of(principal);
  if (owner === undefined) return withoutOwner(rule, principal);
  if (isUnknown(rule, args)) return 'unknown';
  return rule.kind === 'quota' ? countQuota(rule, owner, args) : countPast(rule, owner, args, exact);
}

function isUnknown(rule: HistoryRule, args: unknown): boolean {
  return args === unknownArguments && (rule.kind === 'quota' ? rule.sum !== undefined : rule.same.length > 0);
}

function countQuota(rule: QuotaRule, owner: string, args: unknown): CallCount | PolicyDenial {
  const { identity, sum, units } = rule;
  const tracks = [lengthPrefixed([identity, owner])];
  if (sum === undefined) return { tracks, amount: 1 };
  const value = sum.read(args);
  const amount = amountOf(value, sum.isInteger);
  const wanted = `${sum.isInteger ? 'an integer' : 'a number'} from 0 to ${sum.most}`;
  if (amount === undefined) return mistyped(rule, sum, kindOf(value), wanted);
  const counted = { tracks, amount: units.of(amount) };
  return counted.amount > units.limit ? mistyped(rule, sum, 'more', wanted) : counted;
}

function countPast(rule: PastRule, owner: string, args: unknown, exact?: () => unknown): CallCount | PolicyDenial {
  const values = comparedValues(rule, args, exact);
  if (typeof values === 'object')
    return mistyped(rule, values.argument, values.found, 'a string, a number or a boolean');
  const tracks = values === undefined ? [] : [trackOf(rule, owner, values)];
  if (rule.kind === 'never_after' && rule.same.length > 0) tracks.push(trackOf(rule, owner, incomparable));
  return { tracks, amount: 0 };
}

/**
 * The track in which a call is recorded for a rule that looks back at it. A call whose values cannot be compared may
 * have named any: it permits nothing, and forbids every later call.
 */
function recordedTrack(rule: PastRule, owner: string, call: Attempt, exact?: () => unknown): string | undefined {
  const values = recordedValues(rule, call, exact);
  if (values !== undefined) return trackOf(rule, owner, values);
  return rule.kind === 'never_after' ? trackOf(rule, owner, incomparable) : undefined;
}

function recordedValues(rule: PastRule, call: Attempt, exact?: () => unknown): string | undefined {
  // The server may take other values from there.
  if (rule.same.length > 0 && otherMemberOf(call) !== undefined) return undefined;
  try {
    const values = comparedValues(rule, argumentsOf(call), exact);
    return typeof values === 'object' ? undefined : values;
  } catch {
    // The value may be under a name in another case.
    return undefined;
  }
}

/** The value of calls that cannot be compared. No compared values have this text. */
const incomparable = '*';

function trackOf({ identity }: PastRule, owner: string, values: string): string {
  return lengthPrefixed([identity, owner]) + values;
}

interface Incomparable {
  readonly argument: CallArgument;
  readonly found: string;
}

/**
 * The values that must be the same, as text; undefined where one is absent or null. `after` compares the type and all
 * digits too. `never_after` does not: to many servers 7 and "7", and numbers of one double, are the same.
 */
function comparedValues(
  { kind, same }: PastRule,
  args: unknown,
  exact: () => unknown = () => args,
): string | undefined | Incomparable {
  let values: string | undefined = '';
  for (const argument of same) {
    const value = argument.read(args);
    if (value === undefined || value === null) {
      values = undefined;
      continue;
    }
    if (typeof value === 'object' || value === unreachable) return { argument, found: kindOf(value) };
    if (values === undefined) continue;
    const text = kind === 'after' ? JSON.stringify(argument.read(exact())) : asDouble(value as Scalar);
    values += lengthPrefixed([plainNumber(text)]);
  }
  return values;
}

/** The double that a value is to some servers, as text; else its text. */
function asDouble(value: Scalar): string {
  const text = String(value);
  // JavaScript reads 0 in an empty text.
  const double = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isNaN(double) ? text : String(double);
}

function withoutOwner({ rule, owner }: HistoryRule, principal: Principal): PolicyDenial {
  const named = owner.by === 'actor' ? 'an actor or a client' : `a ${owner.by}`;
  const what = owner.claim === undefined ? named : `claim ${owner.by} as a string, an integer or a boolean`;
  const detail = `wanted ${what}, by which calls are counted, found ${owner.found(principal)}`;
  return { reason: 'claim.denied', rule, detail, scope: [] };
}

function mistyped({ rule }: HistoryRule, { pointer }: CallArgument, found: string, wanted: string): PolicyDenial {
  const detail = `argument ${pointer}: wanted ${wanted}, found ${found}`;
  return { reason: 'argument.denied', rule, detail, scope: [] };
}
