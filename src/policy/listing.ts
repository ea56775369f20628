import { plainName } from '../lib/look-alike.ts';
import type { McpTarget } from '../model/policy.ts';
import type { PolicyDocument } from './document.ts';
import { type Entry, type FindEntry, type ListingKey, compileEntries } from './entry.ts';
import { onlyByName } from './housekeeping.ts';
import { mistakableNames } from './look-alikes.ts';
import { namePattern } from './name-pattern.ts';
import { patternTable } from './pattern-table.ts';
import type { PolicyFault } from './policy-error.ts';
import { resourceTables } from './resources.ts';
import { targetKinds } from './target-kinds.ts';

/** What a policy lists, by what a message acts on; undefined under a kind whose key the policy does not have. */
export interface Listing extends Readonly<Record<McpTarget['kind'] | 'method', FindEntry | undefined>> {
  readonly entries: readonly Entry[];
}

/** The key that lists what a message acts on. */
export const listedUnder = {
  tool: 'tools',
  resource: 'resources',
  template: 'resources',
  prompt: 'prompts',
} as const satisfies Readonly<Record<McpTarget['kind'], ListingKey>>;

/**
 * Compiles what a policy says of what may be called. Appends to `faults` what cannot be compiled.
 *
 * @returns undefined where it says nothing: then everything may be called that its own conditions allow.
 */
export function compileListing(document: PolicyDocument, faults: PolicyFault[]): Listing | undefined {
  const { tools, resources, prompts, methods } = document;
  if ((tools ?? resources ?? prompts ?? methods) === undefined) return undefined;
  const entries: Entry[] = [];
  const compiled = (key: ListingKey): readonly Entry[] => {
    const own = compileEntries(key, document[key] ?? {}, faults);
    entries.push(...own);
    return own;
  };
  const names = (key: ListingKey): FindEntry | undefined => {
    if (document[key] === undefined) return undefined;
    const own = compiled(key);
    const { exact, matching } = patternTable(own, namePattern, faults);
    const isMistakable = mistakableNames(own, namePattern, plainName);
    return (name) => {
      const listed = exact(name);
      if (listed !== undefined || (key === 'methods' && onlyByName.has(plainName(name)))) return listed;
      const covering = matching(name);
      return covering !== undefined && isMistakable(name, covering) ? undefined : covering;
    };
  };
  const tables = resources && resourceTables(compiled('resources'), faults);
  checkMethods(document, faults);
  return {
    tool: names('tools'),
    resource: tables?.resource,
    template: tables?.template,
    prompt: names('prompts'),
    method: names('methods'),
    entries,
  };
}

/** `methods: { tools/call: {} }` alone looks as if it allowed every tool. It never allows any. */
function checkMethods(document: PolicyDocument, faults: PolicyFault[]): void {
  for (const [method, kind] of targetKinds) {
    const key = listedUnder[kind];
    if (document[key] !== undefined || !Object.hasOwn(document.methods ?? {}, method)) continue;
    const message = `allows nothing without ${key}: what ${method} acts on is listed there, all of it as "**"`;
    faults.push({ path: ['methods', method], message: key === 'resources' ? message : message.replace('**', '*') });
  }
}
