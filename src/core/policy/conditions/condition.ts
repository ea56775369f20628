/**
 * @module Conditions on the caller. Each kind has a function in `leaves.ts` or `groups.ts`, and a row in
 * `compile-condition.ts`. This file has what is the same for every kind.
 */

import type { MemberReader } from '../../lib/json/pointer.ts';
import type { PolicyDenial, RequiredAuthentication } from '../../model/denial.ts';
import type { Explanation } from '../../model/policy.ts';
import type { Principal } from '../../model/principal.ts';
import type { PolicyReason } from '../../model/reasons.ts';
import type { ActorsDocument, DocumentPath, PolicyFault } from '../document.ts';
import type { Predicate, Reading } from '../predicate.ts';

/**
 * The results of a condition for a caller, the gravest first. `refused`: nothing would help. `authentication`: another
 * or newer sign-in is missing, and perhaps scopes. `scope`: only scopes are missing, which a new token could have (and
 * with it a new lifetime). `lifetime`: only the token lives too long.
 */
export const verdicts = ['refused', 'authentication', 'scope', 'lifetime', 'met'] as const;

/** One of {@link verdicts}. */
export type Verdict = (typeof verdicts)[number];

/**
 * The verdict on two conditions that must both hold. A refusal hides a missing scope: a challenge for it would loop.
 */
export function graver(one: Verdict, other: Verdict): Verdict {
  return verdicts.indexOf(one) < verdicts.indexOf(other) ? one : other;
}

/** A compiled condition. */
export type Condition = LeafCondition | GroupCondition;

interface AnyCondition {
  /** Its path in the policy file. */
  readonly rule: string;
  /**
   * Judges it, and allocates nothing: only a denial is put into words.
   *
   * @throws whatever a predicate throws: it must not turn into a verdict that a `not` would invert.
   */
  readonly judge: (principal: Principal) => Verdict;
  /** How it denies by a verdict; undefined: the first of its parts that has the verdict denies in its place. */
  readonly denial: (verdict: Verdict) => DenialTemplate | undefined;
}

/** A denial before a caller is known. */
export interface DenialTemplate {
  readonly reason: PolicyReason;
  /** @param applied All conditions of the operation. */
  readonly words: (
    principal: Principal,
    applied: readonly Condition[],
  ) => Pick<PolicyDenial, 'detail' | 'scope' | 'authentication'>;
}

/** A condition that consists of no others. */
export interface LeafCondition extends AnyCondition {
  readonly kind: Exclude<Explanation['kind'], GroupCondition['kind'] | 'argument' | 'history' | 'listed'>;
  /** The verdict where it is not met. */
  readonly unmet: Exclude<Verdict, 'met'>;
  readonly reads: CallerReads;
  /** What it wants of a caller and what it finds, in words. */
  readonly words: (principal: Principal) => Pick<Explanation, 'reads' | 'wanted' | 'found'>;
}

/**
 * The dependencies of a condition on a caller: it is met if each of these is as it wants. Proofs tell callers by it.
 */
interface CallerReads {
  /** Scopes that it wants; a challenge asks for them. */
  readonly scopes: readonly string[];
  readonly claims: readonly ClaimRead[];
  /** The longest lifetimes that it accepts, in seconds. */
  readonly lifetimes: readonly number[];
  /** The sign-in that it wants; a challenge asks for it. It is also among `claims`. */
  readonly authentication: RequiredAuthentication;
  /** What it wants of the parties that act for the subject. */
  readonly actors?: ActorsRead;
}

/** The expectations of a condition of the actors of a token. */
export interface ActorsRead {
  /** The member of `actors`. */
  readonly part: keyof ActorsDocument;
  readonly predicates: readonly Predicate[];
}

/** The expectations of a condition of one claim. */
export interface ClaimRead {
  /** As written: a claim's name or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
  readonly predicates: readonly Predicate[];
}

/** A condition that consists of others. */
export interface GroupCondition extends AnyCondition {
  readonly kind: 'all' | 'any' | 'not';
  readonly parts: readonly Condition[];
  /** The parts whose scopes a challenge asks for. `decisive`: the first that has the verdict of the group. */
  readonly asksFor: 'every part' | 'decisive part' | 'none';
}

/** The declaration of a leaf, in the file of its kind. */
interface Leaf extends Omit<LeafCondition, 'denial' | 'reads'> {
  readonly reason: PolicyReason;
  readonly reads: Partial<CallerReads>;
  /** Default: its own words. */
  readonly denialWords?: DenialTemplate['words'];
}

/** A condition that is met or has one other verdict. */
export function leafCondition({ kind, rule, reason, unmet, reads, judge, words, denialWords }: Leaf): LeafCondition {
  const denial: DenialTemplate = {
    reason,
    words:
      denialWords ??
      ((principal) => {
        const { wanted, found } = words(principal);
        return { detail: `wanted ${wanted}, found ${found}`, scope: [] };
      }),
  };
  return {
    kind,
    rule,
    unmet,
    reads: { scopes: [], claims: [], lifetimes: [], authentication: {}, ...reads },
    words,
    judge,
    denial: () => denial,
  };
}

/** The surroundings of a condition of a document. */
export interface ConditionContext {
  /** Where it stands. */
  readonly path: DocumentPath;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
  readonly reading: Reading;
}

/** Whether a condition consists of others. */
export function isGroup(condition: Condition): condition is GroupCondition {
  return 'parts' in condition;
}

/** The leaves of a condition, in the order of the policy. */
export function leavesOf(condition: Condition): readonly LeafCondition[] {
  return isGroup(condition) ? condition.parts.flatMap(leavesOf) : [condition];
}

/** The rules of a condition that a denial can name. */
export function rulesIn(condition: Condition): readonly string[] {
  const denials = verdicts.map(condition.denial);
  const own = denials.every((denial) => denial === undefined) ? [] : [condition.rule];
  return isGroup(condition) && denials.includes(undefined) ? [...own, ...condition.parts.flatMap(rulesIn)] : own;
}

/** The scopes that a challenge of a condition can ask for. */
export function scopesIn(condition: Condition): readonly string[] {
  if (!isGroup(condition)) return condition.reads.scopes;
  return condition.asksFor === 'none' ? [] : condition.parts.flatMap(scopesIn);
}

/**
 * The scopes that conditions need, without duplicates, in the order of the policy. Conditions under `not` need none.
 */
export function neededScopes(conditions: readonly Condition[], principal: Principal): readonly string[] {
  return [...new Set(askingLeaves(conditions, principal).flatMap(({ reads }) => reads.scopes))];
}

/** The sign-in that conditions need: the ways that all of them accept, and the shortest age. */
export function neededAuthentication(conditions: readonly Condition[], principal: Principal): RequiredAuthentication {
  const needed = askingLeaves(conditions, principal).map(({ reads }) => reads.authentication);
  const lists = needed.flatMap(({ acrValues }) => (acrValues === undefined ? [] : [acrValues]));
  const ages = needed.flatMap(({ maxAge }) => maxAge ?? []);
  const [first] = lists;
  const common = first?.filter((acr) => lists.every((list) => list.includes(acr)));
  const acrValues = common?.length === 0 ? first : common;
  return {
    ...(acrValues && { acrValues }),
    ...(ages.length > 0 && { maxAge: Math.min(...ages) }),
  };
}

/** The leaves that a challenge may ask for. */
function askingLeaves(conditions: readonly Condition[], principal: Principal): readonly LeafCondition[] {
  return conditions.flatMap((condition): readonly LeafCondition[] => {
    if (!isGroup(condition)) return [condition];
    const { asksFor, parts } = condition;
    if (asksFor === 'none') return [];
    return askingLeaves(
      asksFor === 'every part' ? parts : [withVerdict(parts, condition.judge(principal), principal)],
      principal,
    );
  });
}

/**
 * The denial of an operation whose conditions have `verdict` together.
 *
 * @param applied All conditions of the operation, if they are more than these.
 */
export function policyDenial(
  conditions: readonly Condition[],
  verdict: Verdict,
  principal: Principal,
  applied: readonly Condition[] = conditions,
): PolicyDenial {
  const condition = withVerdict(conditions, verdict, principal);
  const denial = condition.denial(verdict);
  if (denial !== undefined) return { reason: denial.reason, rule: condition.rule, ...denial.words(principal, applied) };
  return policyDenial(isGroup(condition) ? condition.parts : [], verdict, principal, applied);
}

function withVerdict(conditions: readonly Condition[], verdict: Verdict, principal: Principal): Condition {
  const condition = conditions.find(({ judge }) => judge(principal) === verdict);
  if (condition === undefined) throw new TypeError(`no condition is ${verdict}`);
  return condition;
}
