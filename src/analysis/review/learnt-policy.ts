import { byCodeUnits } from './order.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { counted, printable } from '../../core/lib/wording.ts';
import type { DecisionRecord } from '../../core/model/decision.ts';
import { listedKinds } from '../../core/model/mcp.ts';
import type { ListedKind, ListingKey } from '../../core/model/mcp-method.ts';
import type { Attempt } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import { isAccepted } from '../../policy-files/policies.ts';
import { compilePolicy } from '../../policy-parts/compile.ts';
import type { EntryDocument, PolicyDocument } from '../../core/policy/document.ts';
import { variablesIn } from '../../core/policy/pattern.ts';
import { isServedBelow } from '../../policy-files/served-requests.ts';
import { attemptOf, principalWith } from './described-caller.ts';
import { flowYaml } from './flow-yaml.ts';
import { recordedAttempt } from './recorded-decision.ts';

interface LearntCall {
  readonly record: DecisionRecord;
  /** The value of the claim of `--by`; undefined if the log does not have it. */
  readonly claim: unknown;
}

/** The route that a policy is learnt for. */
export interface LearntRoute extends Pick<Route, 'name' | 'protocol' | 'path'> {
  /** The paths of all other routes. */
  readonly otherPaths: readonly string[];
  /** Where the arguments of a tool name the tools that it calls, by the policy in force. */
  readonly innerOf?: (tool: string) => EntryDocument['inner'];
}

/** A policy that allows what was allowed, or what shadow mode let pass, and nothing else. */
export interface LearntPolicy {
  /** The document, for the code that decides. */
  readonly document: PolicyDocument;
  /** `NAME.yaml`. */
  readonly policy: string;
  /** `NAME.test.yaml`. */
  readonly tests: string;
  /** What was seen and cannot be written exactly, each with the cause, in words. */
  readonly omitted: readonly string[];
}

interface ListedCalls {
  /** A resource and a template of one name have one entry. The first in code unit order names it. */
  kind: ListedKind;
  readonly kinds: Set<ListedKind>;
  readonly name: string;
  count: number;
  /** The tools that one of the calls called; undefined: none called any. */
  calls?: readonly string[];
  /** The scopes that all its callers had. */
  scope: ReadonlySet<string>;
  /** The values of the claim of `--by`, as flow YAML; undefined once a call had none that a policy can list. */
  values: Map<string, unknown> | undefined;
}

/** The longest names and paths of a log: longer ones are cut. */
const CUT = { name: 512, path: 256 } as const;

/**
 * The policy of calls that were let pass on one route; undefined without any. The same calls give the same text in any
 * order.
 *
 * @param claim The claim of `--by`, by name.
 */
export function learntPolicy(
  calls: readonly LearntCall[],
  route: LearntRoute,
  claim: string | undefined,
): LearntPolicy | undefined {
  const { name: routeName, protocol } = route;
  const sightings = new Map<string, ListedCalls>();
  let common: ReadonlySet<string> | undefined;
  let unknownPaths = 0;
  const unnamed = new Set<string>();
  for (const { record, claim: value } of calls) {
    const tokens = (record.scope ?? '').split(' ').filter((token) => token !== '');
    for (const token of tokens) if (!isAccepted({ scope: token })) unnamed.add(token);
    const scope = new Set(tokens.filter((token) => !unnamed.has(token)));
    common = common === undefined ? scope : inBoth(common, scope);
    const listed = listedIn(recordedAttempt(record, { protocol }));
    if (listed === undefined) unknownPaths += 1;
    const inner = (record.inner ?? []).map((name) => ({ kind: 'tool', name }) as const);
    const [called] = listed ?? [];
    for (const { kind, name } of [...(listed ?? []), ...inner]) {
      const id = `${listedKinds[kind].key} ${name}`;
      const values = new Map<string, unknown>();
      const sighting = sightings.get(id) ?? { kind, kinds: new Set<ListedKind>(), name, count: 0, scope, values };
      if (byCodeUnits(kind, sighting.kind) < 0) sighting.kind = kind;
      sighting.kinds.add(kind);
      sighting.count += 1;
      sighting.scope = inBoth(sighting.scope, scope);
      if (isListable(claim, value)) sighting.values?.set(flowYaml(value), value);
      else sighting.values = undefined;
      if (name === called?.name && inner.length > 0) sighting.calls = inner.map((each) => each.name);
      sightings.set(id, sighting);
    }
  }
  if (common === undefined || unknownPaths === calls.length) return undefined;
  const sorted = [...sightings.values()].toSorted(
    (one, other) => byCodeUnits(one.kind, other.kind) || byCodeUnits(one.name, other.name),
  );
  const faults = sorted.map((sighting) => [sighting, flawOf(sighting, route)] as const);
  const written = faults.flatMap(([sighting, flaw]) => (flaw === undefined ? [sighting] : []));
  const omitted = faults.flatMap(([{ kind, name }, flaw]) =>
    flaw === undefined ? [] : [`${listedKinds[kind].word} ${describeValue(name)}: ${flaw}`],
  );
  for (const token of [...unnamed].toSorted(byCodeUnits)) {
    omitted.push(`scope ${describeValue(token)}: no policy can name it`);
  }
  const own = [...common].toSorted(byCodeUnits);
  const entries = written.map((sighting) => entryOf(sighting, new Set(own), claim, route));
  const comments = [
    `Learnt from ${counted(calls.length, 'call')} on the route ${routeName}. It allows each of them, and nothing else.`,
    'Arguments are not logged: no entry has conditions on them.',
    ...(unknownPaths === 0 ? [] : [`Of ${counted(unknownPaths, 'call')} the log has no path: they are not covered.`]),
    ...omitted.map((line) => `Left out: ${line}.`),
  ];
  return { ...policyOf(entries, own, comments, protocol), tests: testsOf(entries, own, claim, protocol), omitted };
}

interface LearntEntry {
  readonly sighting: ListedCalls;
  readonly key: ListingKey;
  readonly conditions: Readonly<Record<string, unknown>>;
  /** The values of the claim that its conditions want. */
  readonly values: readonly unknown[];
  readonly scope: readonly string[];
  readonly comment: string;
}

function entryOf(
  sighting: ListedCalls,
  own: ReadonlySet<string>,
  claim: string | undefined,
  { innerOf }: LearntRoute,
): LearntEntry {
  // Also of a tool that only another one called: without `inner` its entry would open all that it can call.
  const inner = sighting.kind === 'tool' ? innerOf?.(sighting.name) : undefined;
  const scope = [...sighting.scope].filter((token) => !own.has(token)).toSorted(byCodeUnits);
  const listed = claim === undefined ? [] : [...(sighting.values ?? [])];
  const values = listed.toSorted(([one], [other]) => byCodeUnits(one, other)).map(([, value]) => value);
  const conditions = {
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(values.length > 0 && { claims: { [claim ?? '']: values } }),
    ...(inner && { inner }),
  };
  const missing = claim !== undefined && values.length === 0 ? `; not each call has a ${printable(claim)} to list` : '';
  return {
    sighting,
    key: listedKinds[sighting.kind].key,
    conditions,
    values,
    scope,
    comment: `${counted(sighting.count, 'call')}${missing}`,
  };
}

const keys: readonly ListingKey[] = ['tools', 'resources', 'prompts', 'methods', 'requests'];

function policyOf(
  entries: readonly LearntEntry[],
  own: readonly string[],
  comments: readonly string[],
  protocol: Route['protocol'],
): Pick<LearntPolicy, 'document' | 'policy'> {
  const always = protocol === 'http' ? 'requests' : 'tools';
  const used = keys.filter((key) => entries.some((entry) => entry.key === key));
  const listing = used.length === 0 ? ([always] as const) : used;
  const lists = listing.map((key) => [key, entries.filter((entry) => entry.key === key)] as const);
  const document = {
    ...(own.length > 0 && { scope: own.join(' ') }),
    ...Object.fromEntries(
      lists.map(([key, list]) => [
        key,
        Object.fromEntries(list.map((entry) => [entry.sighting.name, entry.conditions])),
      ]),
    ),
  };
  const entriesOf = (list: readonly LearntEntry[]): string =>
    list
      .map((entry) => `  ${flowYaml(entry.sighting.name)}: ${flowYaml(entry.conditions)} # ${entry.comment}\n`)
      .join('');
  const texts = [
    comments.map((comment) => `# ${comment}\n`).join(''),
    own.length > 0 ? `scope: ${flowYaml(own.join(' '))}\n` : '',
    ...lists.map(([key, list]) => (list.length === 0 ? `${key}: {}\n` : `${key}:\n${entriesOf(list)}`)),
  ];
  return { document, policy: texts.join('') };
}

function testsOf(
  entries: readonly LearntEntry[],
  own: readonly string[],
  claim: string | undefined,
  protocol: Route['protocol'],
): string {
  const line = (name: string, scope: readonly string[], when: object, outcome: unknown, value?: unknown): string => {
    const given = {
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      ...(value !== undefined && { claims: { [claim ?? '']: value } }),
    };
    const members = [name, given, when, outcome].map(flowYaml);
    return `- { name: ${members[0]}, given: ${members[1]}, when: ${members[2]}, then: ${members[3]} }\n`;
  };
  // A test of a tool that calls others would need the arguments that name them, which no log has.
  const testable = entries.filter(({ sighting: { calls } }) => calls === undefined);
  const seen = testable.flatMap(({ sighting: { kinds, name }, values, scope }) =>
    [...kinds].toSorted(byCodeUnits).map((kind) => {
      const title = `${listedKinds[kind].word} ${describeValue(name)} is allowed as before`;
      return line(title, [...own, ...scope], { [kind]: name }, 'allow', values[0]);
    }),
  );
  const [kind, stranger] =
    protocol === 'http' ? (['request', 'PATCH /never-seen'] as const) : (['tool', 'never_seen'] as const);
  const { unlisted } = listedKinds[kind];
  return [...seen, line('what was never seen is refused', own, { [kind]: stranger }, { deny: unlisted })].join('');
}

/** The entries that a policy needs for a call; undefined if the log does not tell. */
function listedIn(attempt: Attempt): readonly { readonly kind: ListedKind; readonly name: string }[] | undefined {
  if (attempt.kind === 'http') {
    return attempt.request === undefined ? undefined : [{ kind: 'request', name: attempt.request }];
  }
  const { method, targets } = attempt;
  const listed = targets.filter(({ kind }) => kind in listedKinds);
  if (method.allowedBy === 'housekeeping' || method.allowedBy === 'target' || listed.length > 0) return listed;
  return method.name === undefined ? [] : [{ kind: 'method', name: method.name }];
}

/** Why an entry of this name would not cover exactly this name, in words; undefined if it would. */
function flawOf({ kind, kinds, name, calls }: ListedCalls, route: LearntRoute): string | undefined {
  if (name === '') return 'it is empty';
  if (name.includes('*')) return 'a * in an entry is a pattern';
  const [variable] = ['requests', 'resources'].includes(listedKinds[kind].key) ? variablesIn(name) : [];
  if (variable !== undefined) return `{${variable}} in an entry is a pattern`;
  if (calls !== undefined && route.innerOf?.(name) === undefined)
    return 'it calls other tools, and the policy in force does not say how';
  const cut = kind === 'request' ? name.length - name.indexOf(' ') - 1 >= CUT.path : name.length >= CUT.name;
  if (cut || name.endsWith('…')) return 'the log cut it';
  const document: PolicyDocument = { [listedKinds[kind].key]: { [name]: {} } };
  if (!isAccepted(document)) return 'no entry can have this name';
  if (kind === 'request' && !isServedBelow(name, [route.path], route.otherPaths))
    return 'no request of the route has it';
  const policy = compilePolicy('learnt', document);
  const isCovered = [...kinds].every((each) => policy.decide(stranger, attemptOf({ [each]: name })).allow);
  return isCovered ? undefined : 'it is not in the plain spelling that an entry covers';
}

const stranger = principalWith(
  { issuer: '', subject: undefined, clientId: undefined, scope: [], claims: {}, lifetimeSeconds: undefined },
  new Map(),
);

function inBoth(one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...one].filter((token) => other.has(token)));
}

function isListable(claim: string | undefined, value: unknown): boolean {
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return true;
  return typeof value === 'string' && isAccepted({ claims: { [claim ?? '']: [value] } });
}
