import { noParts } from '../../core/policy/entry-part.ts';
import { historyKey } from '../../policy-parts/history/key.ts';
import {
  knownRequests,
  listedKinds,
  mcpMethod,
  methodsWithoutRow,
  noMethod,
  targetKinds,
} from '../../core/model/mcp.ts';
import type { ListedKind, TargetKind } from '../../core/model/mcp-method.ts';
import type { Attempt } from '../../core/model/policy.ts';
import { allOf } from '../../core/policy/conditions/groups.ts';
import type { Rules } from '../../core/policy/decide.ts';
import { type Entry, takesArguments } from '../../core/policy/entry.ts';
import type { PastRule } from '../../policy-parts/history/rules.ts';
import { entriesFor, type Listing } from '../../core/policy/listing.ts';
import type { CallKind } from '../../core/policy/plan.ts';
import type { Predicate } from '../../core/policy/predicate.ts';
import type { CallPattern, HttpPattern, McpPattern } from '../../policy-files/property.ts';
import { type NameClass, nameKinds, namesOf, type NameTable } from './names.ts';

/** The target of a call, as a test file writes it; `{}`: a request on an HTTP route. */
type When = { readonly [Key in ListedKind]?: string };

/** A call of an example, as a test file writes it. */
export type ExampleCall = When & { readonly arguments?: Readonly<Record<string, unknown>> };

/** A call for all calls that some policies decide by the same entries. */
export interface PossibleCall {
  /** Undefined: no such call is known, though there may be one. */
  readonly when: When | undefined;
  /** What each policy decides by. */
  readonly kinds: readonly CallKind[];
}

/** The calls that a pattern describes: one for all that the policies cannot tell apart but by arguments. */
export function callsIn(pattern: CallPattern, policies: readonly Rules[]): readonly PossibleCall[] {
  if (pattern.kind === 'http') return unique(requestsIn(pattern, policies));
  if (pattern.kind === 'mcp') return unique(messagesIn(pattern, policies));
  const rest = { kind: 'mcp', method: undefined, arguments: [], variables: [] } as const;
  const all = [
    ...targetKinds.flatMap((kind) => messagesIn({ ...rest, target: { kind, name: [] } }, policies)),
    ...targetKinds.flatMap((kind) => methodsOn(kind).flatMap((method) => withMethod(kind, [], [method], policies))),
    ...messagesIn({ ...rest, target: undefined, method: [] }, policies),
  ];
  return unique([...requestsIn({ kind: 'http', request: undefined, variables: [] }, policies), ...all]);
}

/** Requests on an HTTP route. Where a policy lists them, a call names its request. */
function requestsIn({ request }: HttpPattern, policies: readonly Rules[]): readonly PossibleCall[] {
  const isListed = policies.some(({ listing }) => listing?.request !== undefined);
  if (request === undefined && !isListed) {
    return [{ when: {}, kinds: policies.map(() => ({ method: noMethod, entries: undefined, known: noRules })) }];
  }
  return classesOf('request', request ?? [], policies).map((found) => ({
    when: found.name === undefined ? undefined : { request: found.name },
    kinds: policies.map(({ listing }, index): CallKind => {
      if (listing?.request === undefined) return { method: noMethod, entries: undefined, known: noRules };
      const entry = found.entries[index];
      const entries = entriesFor({ ...listing, request: () => entry }, { kind: 'http', request: found.name ?? '' });
      return { method: noMethod, entries, known: coveringIn(found, policies, index) };
    }),
  }));
}

function methodsOn(kind: TargetKind): readonly string[] {
  return [...knownRequests].flatMap(([method, { allowedBy, target }]) => {
    if (method === listedKinds[kind].namedBy) return [];
    if (target === 'subscriptions') return kind === 'resource' ? [method] : [];
    if (target === 'reference') return kind === 'prompt' ? [method] : [];
    return allowedBy === 'target' && target.kind === kind ? [method] : [];
  });
}

function messagesIn({ target, method }: McpPattern, policies: readonly Rules[]): readonly PossibleCall[] {
  const methods = method === undefined ? [] : classesOf('method', method, policies);
  if (target === undefined) {
    return methods.map((each) =>
      message(each.name === undefined ? undefined : { method: each.name }, [], each, policies),
    );
  }
  if (method === undefined) return withMethod(target.kind, target.name, [listedKinds[target.kind].namedBy], policies);
  return withMethod(
    target.kind,
    target.name,
    methods.flatMap(({ name }) => name ?? []),
    policies,
  );
}

function withMethod(
  kind: TargetKind,
  name: readonly Predicate[],
  methods: readonly string[],
  policies: readonly Rules[],
): readonly PossibleCall[] {
  return classesOf(kind, name, policies).flatMap((target) =>
    methods.map((method) => {
      const isUsual = method === listedKinds[kind].namedBy;
      const when = target.name === undefined ? undefined : { [kind]: target.name, ...(!isUsual && { method }) };
      return message(when, [{ kind, found: target }], { name: method, entries: [], class: '' }, policies);
    }),
  );
}

interface FoundTarget {
  readonly kind: TargetKind;
  readonly found: NameClass;
}

/** A message, with what each policy decides it by: the entries of its names are those that were found. */
function message(
  when: When | undefined,
  targets: readonly FoundTarget[],
  method: NameClass,
  policies: readonly Rules[],
): PossibleCall {
  const tool = targets.find(({ kind }) => kind === 'tool')?.found;
  const kinds = policies.map(({ listing }, index): CallKind => {
    const called = mcpMethod(method.name ?? methodIn(method.class));
    if (listing === undefined) return { method: called, entries: undefined, known: noRules };
    const unknown = [...targets, { kind: 'method', found: method }].filter(({ found }) => found.name === undefined);
    const finders = unknown.map(({ kind, found }) => [kind, () => found.entries[index]]);
    const found: Listing = { ...listing, ...Object.fromEntries(finders) };
    const named = targets.map((target) => ({ kind: target.kind, name: target.found.name ?? '' }));
    const attempt = { kind: 'mcp', method: called, targets: named, arguments: undefined } as const;
    const known = coveringIn(called.hasArguments ? tool : undefined, policies, index);
    return { method: called, entries: entriesFor(found, attempt), known };
  });
  return { when, kinds };
}

/** No rule over time looks back at such calls. */
const noRules: NonNullable<CallKind['known']> = new Map([[historyKey, []]]);

/** The rules over time that look back at calls of a class. */
function coveringIn(
  found: NameClass | undefined,
  policies: readonly Rules[],
  policy: number,
): NonNullable<CallKind['known']> {
  const rules = pastRulesOf(policies).flatMap((each, index) =>
    each.policy === policy && found?.entries[policies.length + index] !== undefined ? [each.rule] : [],
  );
  return new Map([[historyKey, rules]]);
}

/** The rules over time that look back at calls of a kind. */
function coveringOf(kind: CallKind | undefined): readonly PastRule[] {
  return (kind?.known?.get(historyKey) ?? []) as readonly PastRule[];
}

/** Whether the entries that decide a name are those that decide the names of a kind of calls. */
export function isOfKind(when: When, { kinds }: PossibleCall, policies: readonly Rules[]): boolean {
  const named = targetKinds.find((each) => when[each] !== undefined) ?? 'request';
  const name = when[named] ?? '';
  if (!nameKinds[named].isPossible(name)) return false;
  return policies.every((rules, index) => {
    const { listing } = rules;
    const kind = kinds[index];
    const entries = kind?.entries;
    const find = listing?.[named];
    if (entries === undefined || find === undefined) return true;
    const own = 'reason' in entries ? undefined : entries.find(({ key }) => key === listedKinds[named].key);
    if (find(name)?.rule !== own?.rule) return false;
    if (named !== 'request') return true;
    const covering = coveringOf(kind);
    const past = historyKey.inPolicy(rules)?.past ?? [];
    const isCovered = past.map((rule) => rule.covers({ kind: 'http', request: name }) === covering.includes(rule));
    return !isCovered.includes(false);
  });
}

/** A method in place of unknown ones of a class, which are allowed by the same. */
function methodIn(found: NameClass['class']): string {
  return Object.entries(methodsWithoutRow).find(([allowedBy]) => allowedBy === found)?.[1] ?? '';
}

function classesOf(
  kind: ListedKind,
  predicates: readonly Predicate[],
  policies: readonly Rules[],
): readonly NameClass[] {
  const hasPast = kind === 'tool' || kind === 'request';
  const past = hasPast
    ? pastRulesOf(policies).map(({ rule }) => (rule.target === kind ? coveredBy(rule) : nothing))
    : [];
  return namesOf([...policies.map(({ listing }) => tableOf(kind, listing)), ...past], predicates, nameKinds[kind]);
}

/** The rules over time that look back at calls of tools, each with the index of its policy. */
function pastRulesOf(policies: readonly Rules[]): readonly { readonly policy: number; readonly rule: PastRule }[] {
  return policies.flatMap((rules, policy) =>
    (historyKey.inPolicy(rules)?.past ?? []).map((rule) => ({ policy, rule })),
  );
}

const nothing: NameTable = { entries: [], find: () => undefined };

/** The calls that a rule looks back at: one may be refused because it cannot be counted. */
function coveredBy({ rule, target, names, covers, because }: PastRule): NameTable {
  const entries = names.map((name): Entry => {
    const condition = allOf(rule, []);
    const without = { arguments: [], variables: [], parts: noParts } as const;
    return { key: listedKinds[target].key, name, rule, condition, ...without, because };
  });
  return { entries, find: (name) => (covers(callOf(target, name)) ? entries[0] : undefined) };
}

function callOf(target: PastRule['target'], name: string): Attempt {
  if (target === 'request') return { kind: 'http', request: name };
  return {
    kind: 'mcp',
    method: mcpMethod(listedKinds.tool.usedBy),
    targets: [{ kind: target, name }],
    arguments: undefined,
  };
}

function tableOf(kind: ListedKind, listing: Listing | undefined): NameTable {
  const entries: readonly Entry[] = listing?.entries.filter(({ key }) => key === listedKinds[kind].key) ?? [];
  return { entries, find: (name) => listing?.[kind]?.(name) };
}

/** The first of all calls that every policy decides by the same entries; one that is known before one that is not. */
function unique(calls: readonly PossibleCall[]): readonly PossibleCall[] {
  const first = new Map<string, PossibleCall>();
  for (const call of [...calls.filter(({ when }) => when), ...calls.filter(({ when }) => !when)]) {
    const key = call.kinds.map(keyOf).join('\n');
    if (!first.has(key)) first.set(key, call);
  }
  return [...first.values()];
}

function keyOf(kind: CallKind): string {
  const { method, entries } = kind;
  if (entries === undefined) return 'own';
  if ('reason' in entries) return `${entries.reason} ${entries.rule}`;
  return [takesArguments(method), ...[...entries, ...coveringOf(kind)].map(({ rule }) => rule)].join(' ');
}
