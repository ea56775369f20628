/**
 * @module The policy language, `docs/policies.md`: a document is compiled once into conditions (`conditions/`) and
 * lists of what may be called (`listing.ts`), which decide each request (`decide.ts`). Pure: it reads no clock, file or
 * YAML.
 */

import type { McpAttempt, Policy } from '../model/policy.ts';
import { gatewayClaim } from '../model/gateway-claims.ts';
import type { Claims } from '../model/principal.ts';
import { compileCondition } from './conditions/compile-condition.ts';
import { leavesOf, rulesIn, scopesIn } from './conditions/condition.ts';
import { scopeTokens } from './conditions/leaves.ts';
import { type Rules, couldCall, decide, inShadow } from './decide.ts';
import { type PolicyDocument, PolicyError, type PolicyFault } from './document.ts';
import { type MemberReader, unreachable } from '../lib/json/pointer.ts';
import type { Entry } from './entry.ts';
import { compileListing, type Listing } from './listing.ts';
import type { LanguagePart, OpenPart } from './part.ts';
import { createPlans, innerPartIn } from './plan.ts';
import { operandsIn } from './predicate.ts';

/**
 * A policy that decides, from a document that `schema/policy.schema.json` accepts.
 *
 * An allowed call names as its rule the entry that allowed it (`tools.get_*`), or else `policy`.
 *
 * @param name The file's name without `.yaml`.
 * @param parts The parts of the language that its entries may have; default: none, which refuses their keys.
 * @param revision The name with a digest of the file, for records.
 * @throws {PolicyError} with every fault that the schema cannot find: regular expressions and JSON Pointers that do not
 * parse, patterns that are equal or match nothing, numbers that cannot be compared.
 */
export function compilePolicy(
  name: string,
  document: PolicyDocument,
  parts: readonly LanguagePart[] = [],
  revision = name,
): Policy {
  const faults: PolicyFault[] = [];
  const condition = compileCondition(document, [], faults);
  const listing = compileListing(document, parts, faults);
  const { because, mode = 'enforce', lists = defaultLists(document) } = document;
  const shadow = mode === 'shadow';
  const open = listing === undefined ? [] : opened(parts, listing, shadow, faults);
  if (faults.length > 0) throw new PolicyError(name, faults);

  const entries = listing?.entries ?? [];
  const planOf = createPlans({ condition, because, mode, open }, listing);
  const inPolicy = new Map(open.map(({ part, of }) => [part.key, of]));
  const rules: Rules = { document, condition, listing, open, parts: inPolicy, because, mode, lists, planOf };
  const readers = claimReaders(rules, entries);
  const recorded = recordedReaders(readers);
  const every = rulesOf(rules, entries);
  const policy: Policy = {
    name,
    revision,
    scope: scopeTokens(document.scope ?? []),
    scopes: [...new Set([condition, ...entries.map((entry) => entry.condition)].flatMap(scopesIn))],
    lists: shadow ? 'show' : lists,
    distinguishesCallers: !shadow && every.length > 0,
    toolEntry: (tool) => listing?.tool?.(tool)?.name,
    because: ({ kind, name: target }) => (listing?.[kind]?.(target) ?? rules).because,
    couldCall: shadow ? () => true : (principal, target) => couldCall(rules, principal, target),
    decide: shadow
      ? (principal, attempt) => inShadow(decide(rules, principal, attempt))
      : (principal, attempt) => decide(rules, principal, attempt),
    ...innerCallsBy(open),
    parts: inPolicy,
    listsRequests: listing?.request !== undefined,
    listed: entries.map(({ key, name }) => ({ key, name })),
    rules: every,
    readsGatewayClaims: [...readers.keys()].some((name) => gatewayClaim(name) !== undefined),
    claimsRead: (claims) => claimsRead(recorded, claims),
  };
  compiled.set(policy, rules);
  return policy;
}

function opened(
  parts: readonly LanguagePart[],
  listing: Listing,
  isShadow: boolean,
  faults: PolicyFault[],
): readonly OpenPart[] {
  return parts.flatMap((part) => {
    const of = part.open(listing, isShadow, faults);
    return of === undefined ? [] : [{ part, of }];
  });
}

const noCalls: readonly McpAttempt[] = [];

function innerCallsBy(open: readonly OpenPart[]): Pick<Policy, 'innerCalls' | 'callsOthers'> {
  const { inner, of } = innerPartIn(open) ?? {};
  if (inner === undefined || of === undefined) return { innerCalls: () => noCalls, callsOthers: () => false };
  return { innerCalls: (attempt) => inner.calls(of, attempt), callsOthers: (tool) => inner.isIn(of, tool) };
}

const compiled = new WeakMap<Policy, Rules>();

/** The compiled rules by which a policy of {@link compilePolicy} decides, for those who examine policies. */
export function compiledRules(policy: Policy): Rules {
  const rules = compiled.get(policy);
  if (rules === undefined) throw new TypeError(`${policy.name} is not a compiled policy`);
  return rules;
}

/** Readers for the record of a decision: in place of a claim that the gateway adds, the claim that it is made of. */
function recordedReaders(readers: ReadonlyMap<string, MemberReader>): ReadonlyMap<string, MemberReader> {
  const recorded = new Map<string, MemberReader>();
  for (const [name, read] of readers) {
    const source = gatewayClaim(name)?.source;
    if (source === undefined) recorded.set(name, read);
    else recorded.set(source, (claims) => claims[source]);
  }
  return recorded;
}

function claimsRead(readers: ReadonlyMap<string, MemberReader>, claims: Claims): Record<string, unknown> {
  const found = Object.create(null) as Record<string, unknown>;
  for (const [name, read] of readers) {
    const value = read(claims);
    // Null is the JSON value that comes closest to a place that cannot be reached.
    if (value !== undefined) found[name] = value === unreachable ? null : value;
  }
  return found;
}

function defaultLists({ tools, resources, prompts }: PolicyDocument): 'filter' | 'show' {
  return (tools ?? resources ?? prompts) === undefined ? 'show' : 'filter';
}

/**
 * The paths of all rules that a decision can name: conditions, their alternatives, entries and the keys that list them.
 */
function rulesOf({ condition }: Rules, entries: readonly Entry[]): readonly string[] {
  const listed = new Set<string>(entries.map(({ key }) => key));
  return [
    ...rulesIn(condition),
    ...entries.flatMap((entry) => [
      entry.rule,
      ...rulesIn(entry.condition),
      ...entry.arguments.map(({ rule }) => rule),
      ...entry.variables.map(({ rule }) => rule),
      ...[...entry.parts.values()].flatMap((part) => part.rules),
    ]),
    ...listed,
  ];
}

function claimReaders({ condition }: Rules, entries: readonly Entry[]): ReadonlyMap<string, MemberReader> {
  const parts = entries.flatMap((entry) => [...entry.parts.values()]);
  const all = [condition, ...entries.map((entry) => entry.condition), ...parts.flatMap((part) => part.conditions)];
  const conditions = all.flatMap(leavesOf);
  const predicates = [
    ...conditions.flatMap(({ reads }) => [...reads.claims, ...(reads.actors ? [reads.actors] : [])]),
    ...entries.flatMap((entry) => [
      ...entry.arguments,
      ...entry.variables,
      ...[...entry.parts.values()].flatMap(({ values }) => values),
    ]),
  ].flatMap((each) => each.predicates);
  const operands = [
    ...operandsIn(predicates),
    ...parts.flatMap(({ asks }) => asks),
    ...parts.flatMap(({ owners }) => owners),
  ];
  return new Map([
    ...conditions.flatMap(({ reads }) => reads.claims.map(({ name, read }) => [name, read] as const)),
    ...operands.map(({ name, read }) => [name, read] as const),
  ]);
}
