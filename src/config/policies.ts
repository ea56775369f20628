import { join } from 'node:path';
import { ownMember } from '../lib/json/own-member.ts';
import type { Lock } from '../model/lock.ts';
import type { Policy } from '../model/policy.ts';
import { compilePolicy } from '../policy/compile.ts';
import { conditionsIn, matchedPatterns, type PolicyDocument, PolicyError } from '../policy/document.ts';
import { describeValue } from '../lib/json/describe-value.ts';
import { disk, type Files } from './files.ts';
import { ConfigError, inTextOrder, type Path, Problem } from './problems.ts';
import { type Violation, violations } from './schema.ts';
import { parseYaml, problemIn, type YamlFile } from './yaml-file.ts';

/** The key `lock` of a policy. */
export interface LockKey {
  readonly mode: Lock['mode'];
  /** A problem at its place. */
  readonly problem: (message: string) => Problem;
}

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
  /** The policies with `lock`. */
  readonly lockKeys: ReadonlyMap<string, LockKey>;
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
 * Reads and compiles every `NAME.yaml` of a folder, but not `NAME.test.yaml` and `NAME.lock.yaml`.
 *
 * @param label The folder's name in messages.
 */
export async function readPolicies(folder: string, label: string, read: Files): Promise<ReadPolicies> {
  const policies = new Map<string, Policy | undefined>();
  const protocols = new Map<string, { readonly protocol: 'http' | 'mcp'; readonly key: string }>();
  const lockKeys = new Map<string, LockKey>();
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
  const names = policyNames(files);
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
    const policy = await compile(name, document, { problems, warnings });
    policies.set(name, policy);
    if (policy !== undefined) placedScopes.set(name, scopesIn(document.value as PolicyDocument));
    const key = [...mcpKeys, 'requests'].find((each) => ownMember(document.value, each) !== undefined);
    if (key !== undefined) protocols.set(name, { protocol: key === 'requests' ? 'http' : 'mcp', key });
    const mode = policy === undefined ? undefined : (ownMember(document.value, 'lock') as Lock['mode'] | undefined);
    if (mode !== undefined) {
      const problem = (message: string): Problem => problemIn(document, { path: ['lock'], part: 'value', message });
      lockKeys.set(name, { mode, problem });
    }
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
    lockKeys,
    problems,
    problemAt,
    warnings,
    placedScopes,
    misnamed,
    texts,
  };
}

const mcpKeys = ['tools', 'resources', 'prompts', 'methods', 'lock'];

function policyNames(files: readonly string[] | undefined): readonly string[] | undefined {
  // Editors and Kubernetes leave files that start with a dot.
  return files
    ?.filter((file) => file.endsWith('.yaml') && !/\.(?:test|lock)\.yaml$/.test(file) && !file.startsWith('.'))
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

async function compile(name: string, file: YamlFile, { problems, warnings }: Findings): Promise<Policy | undefined> {
  problems.push(...file.problems);
  if (file.problems.length > 0) return undefined;
  // A save that was cut off must not open a route.
  if (file.value === null) {
    const message = 'is empty; write `{}` to accept any valid token';
    problems.push(problemIn(file, { path: [], part: 'value', message }));
    return undefined;
  }
  const faults = [...violations('policy', file.value), ...placeholders(file.value, [])];
  try {
    if (fits(file.value, faults)) {
      const mistakes = mistakesIn(file.value);
      faults.push(...mistakes.faults, ...(await slowPatterns(file.value)));
      warnings.push(...mistakes.warnings.map((each) => problemIn(file, each)).toSorted(inTextOrder));
      const policy = compilePolicy(name, file.value);
      if (faults.length === 0) return policy;
    }
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    for (const { path, message } of error.faults) faults.push({ path, part: 'value', message });
  }
  problems.push(...faults.map((fault) => problemIn(file, fault)).toSorted(inTextOrder));
  return undefined;
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
  const { slowPart } = await import('../policy/patterns/slow-pattern.ts');
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

/** Placeholders in a policy. If `not: ${env:X}` were taken literally, every caller would pass. */
function placeholders(value: unknown, path: Path): Violation[] {
  if (typeof value === 'string' && /\$\{(?:env|file):/.test(value)) {
    return [{ path, part: 'value', message: 'placeholders work in gateway.yaml only' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    return placeholders(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  });
}

/**
 * The policies of a folder that is no part of a configuration, by name.
 *
 * @throws {ConfigError} with every problem of the policies.
 */
export async function policiesIn(folder: string): Promise<ReadonlyMap<string, Policy>> {
  const { exists, policies, problems } = await readPolicies(folder, folder, disk);
  if (!exists) throw new ConfigError([new Problem(folder, undefined, [], 'is not a folder')], []);
  if (problems.length > 0) throw new ConfigError(problems, []);
  return new Map([...policies].filter((entry): entry is [string, Policy] => entry[1] !== undefined));
}

interface PolicyMistakes {
  /** What no caller could satisfy. */
  readonly faults: readonly Violation[];
  /** What may be meant. */
  readonly warnings: readonly Violation[];
}

function mistakesIn(document: PolicyDocument): PolicyMistakes {
  const faults: Violation[] = [];
  const warnings: Violation[] = [];
  for (const { path, condition } of conditionsIn(document)) {
    const { scope } = condition;
    if (scope === undefined) continue;
    const at = [...path, 'scope'];
    const fault = commasBetween(scope, at);
    if (fault !== undefined) faults.push(fault);
    else
      warnings.push(
        ...[scope].flat().flatMap((text, index) => commaWithin(text, scope === text ? at : [...at, index])),
      );
  }
  for (const { path, source } of matchedPatterns(document)) {
    const { fault, warning } = slashesAround(source);
    if (fault !== undefined) faults.push({ path, part: 'value', message: fault });
    else if (warning !== undefined) warnings.push({ path, part: 'value', message: warning });
  }
  for (const name of Object.keys(document.requests ?? {})) {
    const [parameter] = /(?<=\/):[A-Za-z_]\w*(?=\/|$)/.exec(name) ?? [];
    if (parameter === undefined) continue;
    const message = `covers only the path with ${JSON.stringify(parameter)} itself; write * for any segment`;
    warnings.push({ path: ['requests', name], part: 'key', message });
  }
  return { faults, warnings };
}

/** Scopes are separated by spaces: with commas besides, each is another scope than the one that tokens have. */
export function commasBetween(scope: string | readonly string[], path: Path): Violation | undefined {
  if (typeof scope !== 'string' || !/, | ,/.test(scope)) return undefined;
  return { path, part: 'value', message: `${describeValue(scope)} has commas between scopes; write ${split(scope)}` };
}

/** RFC 6749 §3.3 allows a comma in a scope. */
function commaWithin(scope: string, path: Path): readonly Violation[] {
  if (!scope.includes(',')) return [];
  const meant = split(scope);
  const number = meant.includes(' ') ? ' for several' : '';
  const message = `${describeValue(scope)} is one scope with a comma; write ${meant}${number}`;
  return [{ path, part: 'value', message }];
}

function split(scope: string): string {
  return JSON.stringify(
    scope
      .split(/[ ,]+/)
      .filter((token) => token !== '')
      .join(' '),
  );
}

/** Slashes delimit a regular expression in JavaScript; in YAML they are part of it. */
function slashesAround(source: string): { readonly fault?: string; readonly warning?: string } {
  const [, meant, flags] = /^\/(.+)(?<!\\)\/([dgimsuvy]*)$/s.exec(source) ?? [];
  if (meant === undefined) return {};
  const found = describeValue(source);
  // Before ^ and after $ stands no character.
  if (meant.startsWith('^') || /(?<!\\)(?:\\\\)*\$$/.test(meant)) {
    const remedy = `write ${describeValue(meant)}${flags === '' ? '' : '; flags cannot be set'}`;
    return { fault: `${found} matches no text, because its slashes are part of it; ${remedy}` };
  }
  if (flags !== '') return {};
  const remedy = `write ${describeValue(meant)}, or ${describeValue(`\\/${meant}\\/`)} if they are meant`;
  return { warning: `${found} matches only text with these slashes; ${remedy}` };
}
