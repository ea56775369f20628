/**
 * `policies/NAME.lock.yaml`: the definitions of an MCP server that were approved, `docs/locked-tools.md`.
 *
 * @module
 */

import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  approvedDefinitions,
  type Definition,
  type DefinitionKind,
  definitionKey,
  type Definitions,
  type DescribedDefinition,
} from '../../mcp/definitions.ts';
import { type Lock, lockOf } from './settings.ts';
import type { PolicyFolderReader, ReadBesidePolicies } from '../capability.ts';
import type { Problem } from '../../core/config/problems.ts';
import type { Violation } from '../../core/config/schema.ts';
import { violations } from '../../core/config/violations.ts';
import { printable } from '../../core/lib/wording.ts';
import { parseYaml, problemIn } from '../../core/config/yaml-file.ts';

interface WrittenDefinition {
  readonly description?: string;
  readonly sha256: string;
  readonly members?: Readonly<Record<string, string>>;
}

interface LockDocument {
  readonly instructions?: WrittenDefinition;
  readonly tools?: Readonly<Record<string, WrittenDefinition>>;
  readonly prompts?: Readonly<Record<string, WrittenDefinition>>;
}

/** The name of the lock file of a policy. */
export function lockFileOf(policy: string): string {
  return `${policy}.lock.yaml`;
}

/** Reads the text of a lock file; `label` is its name in messages. With problems, it has no definitions. */
export function readLockFile(
  label: string,
  text: string,
): { readonly approved: Definitions; readonly problems: readonly Problem[] } {
  const file = parseYaml(label, text);
  const faults = file.problems.length > 0 ? [] : violations('policy-lock', file.value);
  const problems = [...file.problems, ...faults.map((fault) => problemIn(file, fault))];
  if (problems.length > 0 || !fits(file.value, faults)) return { approved: new Map(), problems };
  const { instructions, tools = {}, prompts = {} } = file.value;
  const approved = [
    ...(instructions === undefined ? [] : [read('instructions', '', instructions)]),
    ...Object.entries(tools).map(([name, written]) => read('tool', name, written)),
    ...Object.entries(prompts).map(([name, written]) => read('prompt', name, written)),
  ];
  return { approved: new Map(approved.map((each) => [definitionKey(each), each])), problems };
}

function read(kind: DefinitionKind, name: string, { sha256, members = {} }: WrittenDefinition): Definition {
  return { kind, name, sha256, members };
}

function fits(_value: unknown, faults: readonly Violation[]): _value is LockDocument {
  return faults.length === 0;
}

const intro = (policy: string, url: string): string => `\
# The tools, prompts and instructions that ${url} showed to \`sallyport lock\`.
# With \`lock\` in ${policy}.yaml the gateway compares them with what the server shows later.
# After a change that you approve, run \`sallyport lock\` again and review the difference.
# sha256 is over the canonical JSON (RFC 8785) of a definition, of _meta only over what clients act on.
# members only help messages.
`;

/** The text of the lock file of `policy`, sorted by name, so that a difference between two versions is a change. */
export function lockFileText(policy: string, url: string, definitions: readonly DescribedDefinition[]): string {
  const sorted = definitions.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const of = (kind: DefinitionKind): Record<string, WrittenDefinition> | undefined => {
    const written = sorted.filter((each) => each.kind === kind).map((each) => [each.name, write(each)] as const);
    return written.length === 0 ? undefined : Object.fromEntries(written);
  };
  const document = { instructions: of('instructions')?.[''], tools: of('tool'), prompts: of('prompt') };
  // Definitions of equal content must not become aliases.
  return intro(policy, url) + stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** The length of a line of a description, in UTF-16 code units. */
const MAX_LINE = 100;

function firstLineOf(description: string): string {
  const line = printable(/^.*/u.exec(description.trim())?.[0] ?? '');
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
}

function write({ sha256, members, description }: DescribedDefinition): WrittenDefinition {
  const firstLine = firstLineOf(description);
  const names = Object.keys(members).toSorted();
  return {
    ...(firstLine !== '' && { description: firstLine }),
    sha256,
    ...(names.length > 0 && { members: Object.fromEntries(names.map((name) => [name, members[name] as string])) }),
  };
}

/** Reads `NAME.lock.yaml` for each policy that has the key `lock`. */
export async function readLocks({
  path,
  label,
  files,
  having,
  problemAt,
}: PolicyFolderReader): Promise<ReadBesidePolicies> {
  const locks = new Map<string, Lock>();
  const problems: Problem[] = [];
  const missing = new Map<string, Problem>();
  const texts = new Map<string, string>();
  const strict = having('calls');
  for (const [name, mode] of having('lock')) {
    const file = lockFileOf(name);
    const { text, fault } = await files.text(join(path, file));
    if (text === undefined) {
      const message = `${join(label, file)} ${fault}; sallyport lock writes it`;
      missing.set(name, problemAt(name, { path: ['lock'], part: 'value', message }));
      continue;
    }
    texts.set(file, text);
    const { approved, problems: found } = readLockFile(join(label, file), text);
    problems.push(...found);
    const isStrict = strict.get(name) === 'strict';
    if (found.length === 0) locks.set(name, { mode: mode as Lock['mode'], approved, ...(isStrict && { isStrict }) });
  }
  const ofRoute = createOfRoute(locks);
  return {
    texts,
    get problems() {
      return [...problems, ...missing.values()];
    },
    ofRoute(field, route, index) {
      // No other route can have a lock, which is the problem then.
      if (route.policy !== undefined && route.protocol !== 'mcp') missing.delete(route.policy.name);
      return ofRoute(field, route, index);
    },
  };
}

/** Requires that each lock is for one route. */
function createOfRoute(locks: ReadonlyMap<string, Lock>): ReadBesidePolicies['ofRoute'] {
  const users = new Map<string, number>();
  return (field, { policy }, index) => {
    const lock = policy && locks.get(policy.name);
    if (policy === undefined || lock === undefined) return [];
    const other = users.get(policy.name);
    if (other !== undefined) {
      const message = `${field.get('policy').quoted()} has lock, and is also the policy of routes[${other}]`;
      field.get('policy').addProblem(`${message}; copy it: a lock is for the server of one route`);
    }
    users.set(policy.name, other ?? index);
    return [lockOf.with(lock), approvedDefinitions.with(lock.approved)];
  };
}
