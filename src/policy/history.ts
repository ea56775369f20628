/**
 * @module Rules over time, `docs/over-time.md`. The policy says which earlier calls count for a call, and what the call
 * counts for later ones. What was counted is not known here: `history/` keeps it.
 */

import { plainNumber } from '../lib/json/plain-number.ts';
import { unreachable } from '../lib/json/pointer.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { HistoryCheck, HistoryRecord } from '../model/history.ts';
import { mcpMethod } from '../model/mcp-methods.ts';
import { type Explanation, type McpAttempt, type Policy, unknownArguments } from '../model/policy.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { Principal } from '../model/principal.ts';
import { amountOf } from './amount.ts';
import { kindOf } from '../lib/json/describe-value.ts';
import type { Entry } from './entry.ts';
import type { ComparedArgument, HistoryRule, PastRule, QuotaRule } from './history-rules.ts';
import { type Listing, entriesFor } from './listing.ts';
import type { PolicyFault } from './policy-error.ts';

/** The rules of all entries that look back at calls of tools; undefined if no entry has a rule over time. */
export function pastRules(entries: readonly Entry[]): readonly PastRule[] | undefined {
  const rules = entries.flatMap(({ history }) => history);
  return rules.length === 0 ? undefined : rules.filter((rule) => rule.kind !== 'quota');
}

/** Reports tools that rules look back at and that the policy never allows: no call of them can come before. */
export function checkPast({ entries, tool }: Listing, faults: PolicyFault[]): void {
  for (const { key, name, history } of entries) {
    for (const { kind, tools } of history.filter((rule) => rule.kind !== 'quota')) {
      const unlisted = tools.find((each) => tool === undefined || (!each.includes('*') && tool(each) === undefined));
      if (unlisted === undefined) continue;
      const message = `looks back at ${JSON.stringify(unlisted)}, which tools does not list; list it there`;
      faults.push({ path: [key, name, kind, 'tool'], message });
    }
  }
}

/** What one call means for one rule. */
interface Counted {
  /** Undefined for a call that lacks a value that must be the same. */
  readonly track: string | undefined;
  readonly amount: number;
}

/** The refusal of a call that a rule cannot count, before any history is looked at. */
interface Uncountable {
  readonly denial: PolicyDenial;
  /** The operator's words for the caller. */
  readonly because: string | undefined;
}

/**
 * The refusal of a call that a rule over time cannot count, because its caller or its arguments lack what the rule
 * needs. A call that rules look back at is refused too: it would be missing in the history.
 *
 * @throws where an argument cannot be read.
 */
export function uncountable(
  past: readonly PastRule[],
  entries: readonly Entry[],
  principal: Principal,
  attempt: McpAttempt,
): Uncountable | undefined {
  for (const rule of [...ownRules(entries, attempt), ...coveringRules(past, attempt)]) {
    const counted = count(rule, principal, attempt.arguments);
    if (counted !== 'unknown' && 'denial' in counted) return counted;
  }
  return undefined;
}

/**
 * The rules over time that decide a call, each as far as the call alone decides it: what it depends on earlier calls
 * is `unknown`. A rule of another call that cannot count this one is among them, because it refuses the call.
 */
export function explainHistory(
  past: readonly PastRule[],
  entries: readonly Entry[],
  principal: Principal,
  attempt: McpAttempt,
): readonly Explanation[] {
  const own = ownRules(entries, attempt).map((rule) => explainRule(rule, principal, attempt));
  const others = coveringRules(past, attempt).map((rule) => explainRule(rule, principal, attempt));
  const refusing = others.filter(({ rule, outcome }) => outcome === 'fails' && !own.some((each) => each.rule === rule));
  return [...own, ...refusing];
}

function explainRule(rule: HistoryRule, principal: Principal, attempt: McpAttempt): Explanation {
  const { wanted } = rule;
  const base = { rule: rule.rule, kind: 'history', wanted, parts: [] } as const;
  try {
    const counted = count(rule, principal, attempt.arguments);
    if (counted === 'unknown') return { ...base, outcome: 'unknown', found: 'unknown' };
    if ('denial' in counted) return { ...base, outcome: 'fails', found: counted.denial.detail };
    if (counted.track !== undefined) return { ...base, outcome: 'unknown', found: 'unknown' };
    return { ...base, outcome: rule.kind === 'after' ? 'fails' : 'holds', found: 'no value that could be the same' };
  } catch {
    return { ...base, outcome: 'error', found: 'an argument that cannot be read' };
  }
}

/** Compiles what calls mean for the rules over time of a policy. */
export function compileCallHistory(
  listing: Listing,
  past: readonly PastRule[],
  isShadow: boolean,
): NonNullable<Policy['history']> {
  return (principal, attempt, exact) => {
    if (attempt.kind === 'http') return undefined;
    const entries = entriesFor(listing, attempt);
    const own = 'reason' in entries ? [] : ownRules(entries, attempt);
    const covering = coveringRules(past, attempt);
    if (own.length === 0 && covering.length === 0) return undefined;
    const checks: HistoryCheck[] = [];
    const records = new Map<string, HistoryRecord>();
    const unknown = new Set<string>();
    const counting = (rule: HistoryRule): Counted | undefined => {
      const counted = countInShadow(rule, principal, attempt.arguments, exact);
      if (counted === 'unknown') unknown.add(rule.rule);
      return counted === 'unknown' ? undefined : counted;
    };
    const record = ({ windowMs }: HistoryRule, { track, amount }: Counted): void => {
      // Rules that look at the same calls share a track: each call is recorded there once.
      if (track !== undefined) records.set(track, { track, amount, keepMs: windowMs });
    };
    for (const rule of own) {
      const counted = counting(rule);
      if (counted === undefined) continue;
      checks.push(checkOf(rule, counted));
      if (rule.kind === 'quota') record(rule, counted);
    }
    for (const rule of covering) {
      const counted = counting(rule);
      if (counted !== undefined) record(rule, counted);
    }
    return { checks, records: [...records.values()], unknown: [...unknown], isShadow };
  };
}

function checkOf(rule: HistoryRule, { track, amount }: Counted): HistoryCheck {
  const { kind, rule: path, windowMs, denial } = rule;
  const { limit, decimals } = rule.kind === 'quota' ? rule.units : { limit: 0, decimals: 0 };
  return { kind, rule: path, track, windowMs, amount, limit, decimals, denial };
}

/** The rules of the entries that decide a call. A completion only names what it completes, and uses nothing of it. */
export function ownRules(entries: readonly Entry[], { method }: Pick<McpAttempt, 'method'>): readonly HistoryRule[] {
  const isReference = mcpMethod(method).allowedBy === 'reference';
  return [...new Set(entries)].flatMap(({ key, history }) => (isReference && key !== 'methods' ? [] : history));
}

/** The rules of other calls that will look back at this one. */
function coveringRules(past: readonly PastRule[], { targets }: McpAttempt): readonly PastRule[] {
  const tool = targets.find(({ kind }) => kind === 'tool');
  return tool === undefined ? [] : past.filter(({ covers }) => covers(tool.name));
}

/** As {@link count}; undefined where the policy would refuse the call if it were not in shadow mode. */
function countInShadow(
  rule: HistoryRule,
  principal: Principal,
  args: unknown,
  exact: (() => unknown) | undefined,
): Counted | 'unknown' | undefined {
  try {
    const counted = count(rule, principal, args, exact);
    return counted !== 'unknown' && 'denial' in counted ? undefined : counted;
  } catch {
    return undefined;
  }
}

/** What a call means for a rule; `unknown`: it depends on arguments that were not recorded. */
function count(
  rule: HistoryRule,
  principal: Principal,
  args: unknown,
  exact: () => unknown = () => args,
): Counted | Uncountable | 'unknown' {
  const owner = rule.owner.of(principal);
  if (owner === undefined) return withoutOwner(rule, principal);
  if (args === unknownArguments && readsArguments(rule)) return 'unknown';
  return rule.kind === 'quota' ? countQuota(rule, owner, args) : countPast(rule, owner, args, exact);
}

function readsArguments(rule: HistoryRule): boolean {
  return rule.kind === 'quota' ? rule.sum !== undefined : rule.same.length > 0;
}

function countQuota(rule: QuotaRule, owner: string, args: unknown): Counted | Uncountable {
  const { identity, sum, units } = rule;
  const track = lengthPrefixed([identity, owner]);
  if (sum === undefined) return { track, amount: 1 };
  const value = sum.read(args);
  const amount = amountOf(value, sum.isInteger);
  const wanted = `${sum.isInteger ? 'an integer' : 'a number'} from 0 to ${sum.most}`;
  if (amount === undefined) return mistyped(rule, sum, kindOf(value), wanted);
  const counted = { track, amount: units.of(amount) };
  return counted.amount > units.limit ? mistyped(rule, sum, 'more', wanted) : counted;
}

function countPast(rule: PastRule, owner: string, args: unknown, exact: () => unknown): Counted | Uncountable {
  let track = lengthPrefixed([rule.identity, owner]);
  for (const argument of rule.same) {
    const value = argument.read(args);
    // Absent on both sides is not the same.
    if (value === undefined || value === null) return { track: undefined, amount: 0 };
    if (typeof value === 'object' || value === unreachable)
      return mistyped(rule, argument, kindOf(value), 'a string, a number or a boolean');
    // JSON.parse rounds two larger integers to one. Their digits are compared, in any notation.
    const isRounded = Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER;
    track += lengthPrefixed([plainNumber(JSON.stringify(isRounded ? argument.read(exact()) : value))]);
  }
  return { track, amount: 0 };
}

function withoutOwner({ rule, owner, because }: HistoryRule, principal: Principal): Uncountable {
  const what = owner.claim === undefined ? `a ${owner.by}` : `claim ${owner.by} as a string, an integer or a boolean`;
  const detail = `wanted ${what}, by which calls are counted, found ${owner.found(principal)}`;
  return { denial: { reason: 'claim.denied', rule, detail, scope: [] }, because };
}

function mistyped(
  { rule, because }: HistoryRule,
  { pointer }: ComparedArgument,
  found: string,
  wanted: string,
): Uncountable {
  const detail = `argument ${pointer}: wanted ${wanted}, found ${found}`;
  return { denial: { reason: 'argument.denied', rule, detail, scope: [] }, because };
}
