import { plainName } from '../lib/look-alike.ts';
import { knownRequests, mcpMethod, usedBy, type TargetKind } from '../model/mcp-methods.ts';
import type { McpAttempt, McpTarget, PolicyDenial, PolicyReason } from '../model/policy.ts';
import { describeValue } from './describe-value.ts';
import type { PolicyDocument } from './document.ts';
import { type Entry, type FindEntry, type ListingKey, compileEntries } from './entry.ts';
import { mistakableNames, patternTable } from './pattern-table.ts';
import { namePattern } from './pattern.ts';
import type { PolicyFault } from './policy-error.ts';
import { plainUri, resourceTables, uriFlaw } from './resources.ts';

/** What a policy lists, by what a message acts on; undefined under a kind whose key the policy does not have. */
export interface Listing extends Readonly<Record<McpTarget['kind'] | 'method', FindEntry | undefined>> {
  readonly entries: readonly Entry[];
}

/** What can be listed besides methods: its key, and the reason and the word for one that is not listed. */
const listedKinds = {
  tool: { key: 'tools', reason: 'tool.unlisted', word: 'tool' },
  resource: { key: 'resources', reason: 'resource.unlisted', word: 'resource' },
  template: { key: 'resources', reason: 'resource.unlisted', word: 'resource template' },
  prompt: { key: 'prompts', reason: 'prompt.unlisted', word: 'prompt' },
} as const satisfies Readonly<
  Record<TargetKind, { readonly key: ListingKey; readonly reason: PolicyReason; readonly word: string }>
>;

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
      if (listed !== undefined || (key === 'methods' && isOnlyByName(name))) return listed;
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

/** Whether no pattern covers a method, however a server reads its name. */
function isOnlyByName(method: string): boolean {
  return mcpMethod(plainName(method)).allowedBy === 'exact entry';
}

/** `methods: { tools/call: {} }` alone looks as if it allowed every tool. It never allows any. */
function checkMethods(document: PolicyDocument, faults: PolicyFault[]): void {
  for (const [method, known] of knownRequests) {
    if (known.allowedBy !== 'target') continue;
    const { key } = listedKinds[known.target.kind];
    if (document[key] !== undefined || !Object.hasOwn(document.methods ?? {}, method)) continue;
    const message = `allows nothing without ${key}: list there what ${method} may act on, or "**" for everything`;
    faults.push({ path: ['methods', method], message: key === 'resources' ? message : message.replace('**', '*') });
  }
}

/** The entry of `methods` that the call of a listed thing meets besides its own, if any. */
export function methodEntry(listing: Listing, kind: McpTarget['kind']): Entry | undefined {
  return listing.method?.(usedBy[kind]);
}

/**
 * Every entry that a message falls under, and whose conditions it must meet: those of what it acts on, then that of its
 * method, if any. None for housekeeping that `methods` does not mention.
 *
 * @returns what is not listed, where something is not: each thing that the message acts on must be, and the method of a
 *   message that acts on nothing and is no housekeeping.
 */
export function entriesFor(listing: Listing, { method, targets }: McpAttempt): readonly Entry[] | Unlisted {
  const known = mcpMethod(method);
  const entries: Entry[] = [];
  for (const { kind, name } of targets) {
    const find = listing[kind];
    // What a completion refers to decides where the policy lists such things, else `methods` must allow it.
    if (find === undefined && known.allowedBy === 'reference') continue;
    const entry = find?.(name);
    if (entry === undefined) return unlistedTarget(kind, name);
    entries.push(entry);
  }
  const kind = known.allowedBy === 'target' ? known.target.kind : undefined;
  if (kind !== undefined && !targets.some((target) => target.kind === kind)) return unlistedTarget(kind, undefined);

  const own = method === undefined ? undefined : listing.method?.(method);
  if (own !== undefined) return [...entries, own];
  const decided = kind !== undefined || (known.allowedBy === 'reference' && entries.length > 0);
  return decided || known.allowedBy === 'housekeeping' ? entries : unlistedMethod(method);
}

/** Something that the policy does not list. */
interface Unlisted {
  readonly reason: PolicyReason;
  readonly rule: ListingKey;
  /** In words, as in a denial's detail. */
  readonly wanted: string;
  readonly found: string;
}

/** What a message acts on, or undefined where it names nothing. */
function unlistedTarget(kind: McpTarget['kind'], name: string | undefined): Unlisted {
  const { key, reason, word } = listedKinds[kind];
  const found = `${describeValue(name)}${name === undefined ? '' : whyUnlisted(kind, name)}`;
  return { reason, rule: key, wanted: `a ${word} that is listed`, found };
}

/** What its spelling has to do with it, if anything. */
function whyUnlisted(kind: McpTarget['kind'], name: string): string {
  const flaw = kind === 'resource' ? uriFlaw(name) : undefined;
  if (flaw !== undefined) return `: only an exact entry covers a URI with ${flaw}`;
  const plain = kind === 'resource' || kind === 'template' ? plainUri(name) : plainName(name);
  return plain === name ? '' : `: only an exact entry covers a name that some servers read as ${describeValue(plain)}`;
}

/** A method that neither `methods` lists nor anything else allows. */
function unlistedMethod(method: string | undefined): Unlisted {
  const wanted = 'a method that is listed or protocol housekeeping';
  const why = mcpMethod(method).allowedBy === 'exact entry' ? ': only an exact entry covers it' : '';
  return { reason: 'method.unlisted', rule: 'methods', wanted, found: `${describeValue(method)}${why}` };
}

/** There is no challenge, even where a scope is missing too: a new token would not help. */
export function unlistedDenial({ reason, rule, wanted, found }: Unlisted): PolicyDenial {
  return { reason, rule, detail: `wanted ${wanted}, found ${found}`, scope: [] };
}
