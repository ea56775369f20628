import { join } from 'node:path';
import { actorFlaw } from '../ports/actors.ts';
import { listedKinds, mcpMethod, type NamedKind, namedKinds } from '../core/model/mcp.ts';
import type { Policy } from '../core/model/policy.ts';
import type { PolicyReason } from '../core/model/reasons.ts';
import type { PolicyFault } from '../core/policy/document.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';
import { requestFlaw } from '../core/policy/requests.ts';
import { compileProperty, type GivenApproval, type Property, type PropertyDocument } from './property.ts';
import { disk, type Files } from '../core/config/files.ts';
import { commasBetween } from './policy-mistakes.ts';
import { ConfigError, inTextOrder, type Path, Problem } from '../core/config/problems.ts';
import type { Violation } from '../core/config/schema.ts';
import { violations } from '../core/config/violations.ts';
import { parseYaml, problemIn, type YamlFile } from '../core/config/yaml-file.ts';

/** A call that was made before another one, as a test describes it. */
export interface EarlierCall {
  readonly tool?: string;
  readonly resource?: string;
  readonly prompt?: string;
  readonly method?: string;
  readonly request?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The time between the two calls, such as `10m`. */
  readonly ago: string;
  /** Undefined: the same caller. */
  readonly subject?: string;
  /** How it ended. Undefined: `answered`. */
  readonly outcome?: 'answered' | 'error' | 'unanswered';
}

/** A test of a policy, as `schema/policy-test.schema.json` accepts it. */
export interface PolicyTest {
  readonly name: string;
  readonly given: {
    readonly scope?: string | readonly string[];
    readonly claims?: Readonly<Record<string, unknown>>;
    /** `60s`; `exp - iat`. */
    readonly lifetime?: string;
    /** How long ago the sign-in was. */
    readonly authenticated?: string;
    readonly issuer?: string;
    /** Calls that were made before. */
    readonly history?: readonly EarlierCall[];
    /** Whether it has an approval; default: `none`. */
    readonly approval?: GivenApproval;
  };
  readonly when: {
    readonly tool?: string;
    readonly resource?: string;
    readonly template?: string;
    readonly prompt?: string;
    readonly arguments?: Readonly<Record<string, unknown>>;
    readonly method?: string;
    readonly request?: string;
  };
  readonly then: 'allow' | 'shadow' | { readonly deny: PolicyReason; readonly challenge?: string };
}

/** A file of tests. */
export interface PolicyTestFile {
  /** Its name in messages. */
  readonly file: string;
  /** The policy that it tests, by name. */
  readonly policy: string;
  /** Each with the line on which it begins, from 1. */
  readonly tests: readonly { readonly test: PolicyTest; readonly line: number }[];
  /** Each with the line on which it begins, from 1. */
  readonly properties: readonly { readonly property: Property; readonly line: number }[];
}

const suffix = '.test.yaml';

/**
 * Reads every `NAME.test.yaml` of a folder.
 *
 * @param label The folder's name in messages.
 * @param policies All policies, by name: a test of any other is a problem.
 */
export async function readPolicyTests(
  folder: string,
  label: string,
  policies: ReadonlyMap<string, Tested>,
  read: Files = disk,
): Promise<{ readonly files: readonly PolicyTestFile[]; readonly problems: readonly Problem[] }> {
  const entries = (await read.names(folder)) ?? [];
  // Editors and Kubernetes leave files that start with a dot.
  const names = entries.filter((name) => name.endsWith(suffix) && !name.startsWith('.')).toSorted();
  const files: PolicyTestFile[] = [];
  const problems: Problem[] = [];
  for (const name of names) {
    const file = join(label, name);
    const policy = name.slice(0, -suffix.length);
    if (!policies.has(policy)) problems.push(new Problem(file, undefined, [], `there is no ${policy}.yaml to test`));
    const { text, fault } = await read.text(join(folder, name));
    if (text === undefined) {
      problems.push(new Problem(file, undefined, [], fault ?? ''));
      continue;
    }
    const document = parseYaml(file, text);
    const found = problemsOf(document, policies.get(policy));
    const { faults, ...tests } = found.length === 0 ? compiledTests(document) : nothing;
    problems.push(...found, ...faults.map((fault) => problemIn(document, { ...fault, part: 'value' })));
    if (found.length + faults.length === 0) files.push({ file, policy, ...tests });
  }
  return { files, problems };
}

/** The parts of a loaded configuration that have the tests of its policies. */
interface ReadConfiguration {
  readonly config: { readonly policies: ReadonlyMap<string, Policy> };
  readonly policyFolder: { readonly path: string; readonly label: string };
  readonly files: ConstructorParameters<typeof ConfigError>[1];
}

/**
 * The tests beside the policies of a configuration.
 *
 * @throws {ConfigError} with every problem of their files.
 */
export async function testsOf({ config, policyFolder, files }: ReadConfiguration): Promise<readonly PolicyTestFile[]> {
  const found = await readPolicyTests(policyFolder.path, policyFolder.label, config.policies);
  if (found.problems.length > 0) throw new ConfigError(found.problems, files);
  return found.files;
}

/** The parts of a policy that its tests must fit. */
export type Tested = Pick<Policy, 'listsRequests' | 'listed'>;

type Item = PolicyTest | PropertyDocument;

function problemsOf(document: YamlFile, policy: Tested | undefined): readonly Problem[] {
  if (document.problems.length > 0) return document.problems;
  if (document.value === null) {
    return [problemIn(document, { path: [], part: 'value', message: 'is empty, so that it tests nothing' })];
  }
  const faults = violations('policy-test', document.value);
  if (faults.length === 0) faults.push(...contradictions(document.value as readonly Item[], policy));
  return faults.map((fault) => problemIn(document, fault)).toSorted(inTextOrder);
}

function contradictions(tests: readonly Item[], policy: Tested | undefined): Violation[] {
  return tests.flatMap((item, index): Violation[] => [
    ...('given' in item ? misspelledScope(item.given.scope ?? [], [index, 'given', 'scope']) : []),
    ...('given' in item ? unreadableActors(item.given.claims, [index, 'given', 'claims', 'act']) : []),
    ...('given' in item ? impossibleHistory(item.given.history, [index, 'given', 'history']) : []),
    ...(item.when === 'any' ? [] : contradiction(item.when, [index, 'when'], 'for_all' in item ? 'any' : undefined)),
    ...(item.when === 'any' ? [] : otherProtocol(item.when, policy, [index, 'when'])),
    ...(item.when === 'any' ? [] : otherKey(item.when, policy, [index, 'when'])),
  ]);
}

function otherProtocol(when: Described, policy: Tested | undefined, path: Path): Violation[] {
  if (policy?.listsRequests === true && when.request === undefined) {
    const message = "names no request, and the policy has requests; write { request: 'GET /path' }";
    return [{ path, part: 'value', message }];
  }
  const other = policy?.listed.find(({ key }) => key !== 'requests');
  if (other === undefined || when.request === undefined) return [];
  const remedy = 'name a tool, resource, prompt or method instead';
  const message = `the policy has ${other.key}, which is for MCP routes; ${remedy}`;
  return [{ path: [...path, 'request'], part: 'key', message }];
}

/** Variables are those of a key as the policy writes it. */
function otherKey(when: Described, policy: Tested | undefined, path: Path): Violation[] {
  const kind = when.request === undefined ? 'resource' : 'request';
  const entry = when[kind];
  if (when.variables === undefined || typeof entry !== 'string' || policy === undefined) return [];
  const keys = policy.listed.filter(({ key }) => key === listedKinds[kind].key).map(({ name }) => name);
  if (keys.includes(entry)) return [];
  const known = keys.length === 0 ? 'it has none' : `it has ${keys.map((key) => describeValue(key)).join(', ')}`;
  const message = `is no key of ${listedKinds[kind].key} in the policy; ${known}`;
  return [{ path: [...path, kind], part: 'value', message }];
}

function misspelledScope(scope: string | readonly string[], path: Path): Violation[] {
  const fault = commasBetween(scope, path);
  return fault === undefined ? [] : [fault];
}

function unreadableActors(claims: PolicyTest['given']['claims'] = {}, path: Path): Violation[] {
  const flaw = actorFlaw(claims);
  return flaw === undefined ? [] : [{ path, part: 'value', message: `${flaw}: every route refuses such a token` }];
}

function impossibleHistory(history: readonly EarlierCall[] = [], path: Path): Violation[] {
  return history.flatMap((call, index): Violation[] => {
    const at = [...path, index];
    if (call.method === undefined && namedIn(call).length === 0) {
      return [{ path: at, part: 'value', message: 'names no call; add tool, resource, prompt, request or method' }];
    }
    return contradiction(call, at);
  });
}

/** The members that name a target, of a call or of the calls of a property. */
type Described = { readonly [Key in NamedKind | 'arguments' | 'variables' | 'method']?: unknown };

/** @param every The text that stands for every request, of a property. */
function contradiction(when: Described, path: Path, every?: 'any'): Violation[] {
  const [first, second] = namedIn(when);
  if (second !== undefined) {
    return [{ path: [...path, second], part: 'key', message: `one call cannot act on a ${first} and a ${second}` }];
  }
  if (first === 'request' && when.method !== undefined) {
    return [{ path: [...path, 'method'], part: 'key', message: 'a request has its method in its text: GET /orders' }];
  }
  if (typeof when.request === 'string' && when.request !== every && when.variables === undefined) {
    const flaw = requestFlaw(when.request, 'requests');
    if (flaw !== undefined) return [{ path: [...path, 'request'], part: 'value', message: flaw }];
  }
  if (when.arguments === undefined) return [];
  const takesArguments =
    first !== undefined && first !== 'request' && mcpMethod(listedKinds[first].namedBy).hasArguments;
  if (takesArguments) return [];
  return [{ path: [...path, 'arguments'], part: 'key', message: 'only a tool or a prompt takes arguments' }];
}

function namedIn(when: Described): readonly NamedKind[] {
  return namedKinds.filter((key) => when[key] !== undefined);
}

const anyTest = parseYaml('', '{ name: history, when: {}, then: allow }').value as PolicyTest;
const inTest = [0, 'given', 'history'] as const;

/**
 * The earlier calls in a text of their own: a list in YAML or JSON, as `given: { history: … }` has it.
 *
 * @param file Its name in messages.
 */
export function historyIn(
  file: string,
  text: string,
): { readonly history: readonly EarlierCall[]; readonly problems: readonly Problem[] } {
  const document = parseYaml(file, text);
  if (document.problems.length > 0) return { history: [], problems: document.problems };
  const history = (document.value ?? []) as readonly EarlierCall[];
  const faults = violations('policy-test', [{ ...anyTest, given: { history } }]);
  if (faults.length === 0) faults.push(...impossibleHistory(history, inTest));
  const problems = faults.map((fault) => problemIn(document, { ...fault, path: fault.path.slice(inTest.length) }));
  return { history, problems: problems.toSorted(inTextOrder) };
}

interface Compiled extends Pick<PolicyTestFile, 'tests' | 'properties'> {
  readonly faults: readonly PolicyFault[];
}

const nothing: Compiled = { tests: [], properties: [], faults: [] };

function compiledTests(document: YamlFile): Compiled {
  const items = (document.value as readonly Item[]).map((item, index) => {
    return { item, index, line: document.position([index], 'value').line };
  });
  const faults: PolicyFault[] = [];
  return {
    faults,
    tests: items.flatMap(({ item, line }) => ('for_all' in item ? [] : [{ test: item, line }])),
    properties: items.flatMap(({ item, index, line }) =>
      'for_all' in item ? [{ property: compileProperty(item, [index], faults), line }] : [],
    ),
  };
}
