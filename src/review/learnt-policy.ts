import { describeValue } from '../lib/json/describe-value.ts';
import { counted } from '../lib/wording.ts';
import type { DecisionRecord } from '../model/decision.ts';
import { listedKinds, type ListedKind, type ListingKey } from '../model/mcp.ts';
import type { Attempt } from '../model/policy.ts';
import type { Route } from '../model/route.ts';
import { compilePolicy } from '../policy/compile.ts';
import { type PolicyDocument, PolicyError } from '../policy/document.ts';
import { attemptOf, principalWith } from './described-caller.ts';
import { flowYaml } from './flow-yaml.ts';
import { recordedAttempt } from './recorded-decision.ts';

interface LearntCall {
  readonly record: DecisionRecord;
  /** The value of the claim of `--by`; undefined if the log does not have it. */
  readonly claim: unknown;
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
  readonly kind: ListedKind;
  readonly name: string;
  count: number;
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
  { name: routeName, protocol }: Pick<Route, 'name' | 'protocol'>,
  claim: string | undefined,
): LearntPolicy | undefined {
  const sightings = new Map<string, ListedCalls>();
  let common: ReadonlySet<string> | undefined;
  let unknownPaths = 0;
  for (const { record, claim: value } of calls) {
    const scope = new Set((record.scope ?? '').split(' ').filter((token) => token !== ''));
    common = common === undefined ? scope : inBoth(common, scope);
    const listed = listedIn(recordedAttempt(record, { protocol }));
    if (listed === undefined) unknownPaths += 1;
    for (const { kind, name } of listed ?? []) {
      const id = `${kind} ${name}`;
      const sighting = sightings.get(id) ?? { kind, name, count: 0, scope, values: new Map<string, unknown>() };
      sighting.count += 1;
      sighting.scope = inBoth(sighting.scope, scope);
      if (isListable(value)) sighting.values?.set(flowYaml(value), value);
      else sighting.values = undefined;
      sightings.set(id, sighting);
    }
  }
  if (common === undefined || unknownPaths === calls.length) return undefined;
  const sorted = [...sightings.values()].toSorted(
    (one, other) => compared(one.kind, other.kind) || compared(one.name, other.name),
  );
  const faults = sorted.map((sighting) => [sighting, flawOf(sighting)] as const);
  const written = faults.flatMap(([sighting, flaw]) => (flaw === undefined ? [sighting] : []));
  const omitted = faults.flatMap(([{ kind, name }, flaw]) =>
    flaw === undefined ? [] : [`${listedKinds[kind].word} ${describeValue(name)}: ${flaw}`],
  );
  const own = [...common].toSorted(compared);
  const entries = written.map((sighting) => entryOf(sighting, new Set(own), claim));
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

function entryOf(sighting: ListedCalls, own: ReadonlySet<string>, claim: string | undefined): LearntEntry {
  const scope = [...sighting.scope].filter((token) => !own.has(token)).toSorted(compared);
  const listed = claim === undefined ? [] : [...(sighting.values ?? [])];
  const values = listed.toSorted(([one], [other]) => compared(one, other)).map(([, value]) => value);
  const conditions = {
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(values.length > 0 && { claims: { [claim ?? '']: values } }),
  };
  const missing = claim !== undefined && values.length === 0 ? `; not each call has a ${claim} to list` : '';
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
  const seen = entries.map(({ sighting: { kind, name }, values, scope }) => {
    const title = `${listedKinds[kind].word} ${describeValue(name)} is allowed as before`;
    return line(title, [...own, ...scope], { [kind]: name }, 'allow', values[0]);
  });
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
function flawOf({ kind, name }: ListedCalls): string | undefined {
  if (name === '') return 'it is empty';
  if (name.includes('*')) return 'a * in an entry is a pattern';
  const cut = kind === 'request' ? name.length - name.indexOf(' ') - 1 >= CUT.path : name.length >= CUT.name;
  if (cut || name.endsWith('…')) return 'the log cut it';
  const document: PolicyDocument = { [listedKinds[kind].key]: { [name]: {} } };
  try {
    const decision = compilePolicy('learnt', document).decide(stranger, attemptOf({ [kind]: name }));
    return decision.allow ? undefined : 'it is not in the plain spelling that an entry covers';
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return 'no entry can have this name';
  }
}

const stranger = principalWith(
  { issuer: '', subject: undefined, clientId: undefined, scope: [], claims: {}, lifetimeSeconds: undefined },
  new Map(),
);

function inBoth(one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...one].filter((token) => other.has(token)));
}

function isListable(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
}

/** By code units, so that the order is the same everywhere. */
function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
