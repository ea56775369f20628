import { hash } from 'node:crypto';
import { join } from 'node:path';
import { ownMember } from '../core/lib/json/own-member.ts';
import type { Policy } from '../core/model/policy.ts';
import { compilePolicy } from '../core/policy/compile.ts';
import { type PolicyDocument, PolicyError } from '../core/policy/document.ts';
import { conditionsIn, matchedPatterns } from './placed-conditions.ts';
import { languageParts, partsOf } from '../policy-parts/parts.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';
import { disk, type Files } from '../core/config/files.ts';
import { ConfigError, inTextOrder, type Path, Problem } from '../core/config/problems.ts';
import { mistakesIn, placeholdersIn } from './policy-mistakes.ts';
import { validators, type Violation } from '../core/config/schema.ts';
import { parseYaml, problemIn, type YamlFile } from '../core/config/yaml-file.ts';

interface PlacedScope {
  readonly scope: string;
  readonly path: Path;
}

/** The policies of one folder. */
export interface ReadPolicies {
  /** Whether there is such a folder. */
  readonly exists: boolean;
  /** By name; undefined if the file has problems. */
  readonly policies: ReadonlyMap<string, Policy | undefined>;
  /** The policies that only routes of one protocol can use, each with a key that says so. */
  readonly protocols: ReadonlyMap<string, { readonly protocol: 'http' | 'mcp'; readonly key: string }>;
  /** The valid policies that have a key, and its value in each. */
  readonly having: (key: string) => ReadonlyMap<string, unknown>;
  readonly problems: readonly Problem[];
  /** A problem in a policy. */
  readonly problemAt: (policy: string, violation: Violation) => Problem;
  /** What is probably not meant. */
  readonly warnings: readonly Problem[];
  /** The scopes that callers of a policy need, each with its place. */
  readonly placedScopes: ReadonlyMap<string, readonly PlacedScope[]>;
  /** Files whose suffix is not `.yaml`, by the name with that suffix. They are not read. */
  readonly misnamed: ReadonlyMap<string, string>;
  /** The text of each file, by its name within the folder, sorted. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Reads and compiles every `NAME.yaml` of a folder, but not `NAME.test.yaml` and the files of capabilities.
 *
 * @param label The folder's name in messages.
 * @param others What the names of files end with that are no policies either.
 */
export async function readPolicies(
  folder: string,
  label: string,
  read: Files,
  others: readonly string[],
): Promise<ReadPolicies> {
  const policies = new Map<string, Policy | undefined>();
  const protocols = new Map<string, { readonly protocol: 'http' | 'mcp'; readonly key: string }>();
  const documents = new Map<string, YamlFile>();
  const placedScopes = new Map<string, readonly PlacedScope[]>();
  const problems: Problem[] = [];
  const texts = new Map<string, string>();
  const files = await read.names(folder);
  const misnamed = misnamedIn(files ?? []);
  const warnings = Array.from(
    misnamed,
    ([meant, file]) => new Problem(join(label, file), undefined, [], `is not read; rename it to ${meant}`),
  );
  const names = policyNames(files, ['.test.yaml', ...others]);
  for (const name of names ?? []) {
    policies.set(name, undefined);
    const file = `${name}.yaml`;
    const { text, fault } = await read.text(join(folder, file));
    if (text === undefined) {
      problems.push(new Problem(join(label, file), undefined, [], fault ?? ''));
      continue;
    }
    texts.set(file, text);
    const document = parseYaml(join(label, file), text);
    documents.set(name, document);
    const policy = await compile(name, text, document, { problems, warnings });
    policies.set(name, policy);
    if (policy !== undefined) placedScopes.set(name, scopesIn(document.value as PolicyDocument));
    const key = [...mcpKeys, 'requests'].find((each) => ownMember(document.value, each) !== undefined);
    if (key !== undefined) protocols.set(name, { protocol: key === 'requests' ? 'http' : 'mcp', key });
  }
  const problemAt: ReadPolicies['problemAt'] = (policy, violation) => {
    const document = documents.get(policy);
    if (document === undefined) throw new TypeError(`no policy ${policy}`);
    return problemIn(document, violation);
  };
  return {
    exists: names !== undefined,
    policies,
    protocols,
    having(key) {
      const valid = [...documents].filter(([name]) => policies.get(name) !== undefined);
      const values = valid.map(([name, { value }]) => [name, ownMember(value, key)] as const);
      return new Map(values.filter(([, value]) => value !== undefined));
    },
    problems,
    problemAt,
    warnings,
    placedScopes,
    misnamed,
    texts,
  };
}

const ofMcp = languageParts.flatMap((part) => part.ofMcp ?? []);
const mcpKeys = ['tools', 'resources', 'prompts', 'methods', ...ofMcp];

function policyNames(files: readonly string[] | undefined, others: readonly string[]): readonly string[] | undefined {
  // Editors and Kubernetes leave files that start with a dot.
  return files
    ?.filter((file) => file.endsWith('.yaml') && !others.some((end) => file.endsWith(end)) && !file.startsWith('.'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .toSorted();
}

function misnamedIn(files: readonly string[]): ReadonlyMap<string, string> {
  const others = files.filter((file) => /.\.ya?ml$/i.test(file) && !file.endsWith('.yaml') && !file.startsWith('.'));
  return new Map(others.toSorted().map((file) => [file.replace(/\.\w+$/, '.yaml'), file]));
}

interface Findings {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** How many hex digits of a digest name the bytes of a policy. */
const DIGITS = 12;

async function compile(
  name: string,
  text: string,
  file: YamlFile,
  { problems, warnings }: Findings,
): Promise<Policy | undefined> {
  problems.push(...file.problems);
  if (file.problems.length > 0) return undefined;
  // A save that was cut off must not open a route.
  if (file.value === null) {
    const message = 'is empty; write what callers need, such as `scope: read`; `{}` accepts any valid token';
    problems.push(problemIn(file, { path: [], part: 'value', message }));
    return undefined;
  }
  const faults = [...(await violations(file.value)), ...placeholdersIn(file.value)];
  try {
    if (fits(file.value, faults)) {
      const mistakes = mistakesIn(file.value, file.isPlain);
      faults.push(...mistakes.faults, ...(await slowPatterns(file.value)));
      warnings.push(...mistakes.warnings.map((each) => problemIn(file, each)).toSorted(inTextOrder));
      const policy = compilePolicy(
        name,
        file.value,
        await partsOf(file.value),
        `${name}@${hash('sha256', text).slice(0, DIGITS)}`,
      );
      if (faults.length === 0) return policy;
    }
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    for (const { path, message } of error.faults) faults.push({ path, part: 'value', message });
  }
  problems.push(...faults.map((fault) => problemIn(file, fault)).toSorted(inTextOrder));
  return undefined;
}

async function violations(document: unknown): Promise<readonly Violation[]> {
  if (validators.policy(document)) return [];
  return (await import('../core/config/violations.ts')).violations('policy', document);
}

/** Whether `check` accepts a policy document that has neither a regular expression nor keys of parts. */
export function isAccepted(document: unknown): document is PolicyDocument {
  if (
    !validators.policy(document) ||
    !fits(document, placeholdersIn(document)) ||
    mistakesIn(document).faults.length > 0
  )
    return false;
  try {
    return compilePolicy('', document).name === '';
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
}

/** The scopes that callers need; those of approvers are for another token. */
function scopesIn(document: PolicyDocument): readonly PlacedScope[] {
  return conditionsIn(document)
    .filter(({ path }) => !path.includes('by'))
    .flatMap(({ path, condition: { scope = [] } }) =>
      typeof scope === 'string'
        ? scope.split(' ').map((each) => ({ scope: each, path: [...path, 'scope'] }))
        : scope.map((each, index) => ({ scope: each, path: [...path, 'scope', index] })),
    );
}

/** Callers choose arguments: an expression that takes seconds for one would block every other request. */
async function slowPatterns(document: PolicyDocument): Promise<readonly Violation[]> {
  const patterns = matchedPatterns(document);
  if (patterns.length === 0) return [];
  // It loads a megabyte of Unicode tables, which most configurations do not need.
  const { slowPart } = await import('./slow-pattern.ts');
  return patterns.flatMap(({ path, source }) => {
    const slow = slowPart(source);
    if (slow === undefined) return [];
    const part = `from character ${slow.character}, ${JSON.stringify(slow.text)} ${slow.why}`;
    return [{ path, part: 'value', message: `${describeValue(source)} may take too long: ${part}` }];
  });
}

function fits(_value: unknown, faults: readonly Violation[]): _value is PolicyDocument {
  return faults.length === 0;
}

/**
 * The policies of a folder that is no part of a configuration, by name.
 *
 * @throws {ConfigError} with every problem of the policies.
 */
export async function policiesIn(folder: string, others: readonly string[]): Promise<ReadonlyMap<string, Policy>> {
  const { exists, policies, problems } = await readPolicies(folder, folder, disk, others);
  if (!exists) throw new ConfigError([new Problem(folder, undefined, [], 'is not a folder')], []);
  if (problems.length > 0) throw new ConfigError(problems, []);
  return new Map([...policies].filter((entry): entry is [string, Policy] => entry[1] !== undefined));
}
