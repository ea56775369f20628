import { plainName } from '../lib/look-alike.ts';
import { knownRequests, listedKinds, MAX_NAME_LENGTH, MAX_URI_LENGTH, mcpMethod } from '../model/mcp.ts';
import type { ListedKind, ListingKey } from '../model/mcp-method.ts';
import type { Attempt, Explanation, McpAttempt, McpTarget } from '../model/policy.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { PolicyReason } from '../model/reasons.ts';
import { describeValue } from '../lib/json/describe-value.ts';
import type { PolicyDocument, PolicyFault } from './document.ts';
import { type Entry, type FindEntry, compileEntries } from './entry.ts';
import type { EntryCompiler } from './entry-part.ts';
import { mistakableNames, namePattern, patternTable } from './pattern.ts';
import { requestTable, shortestRequest } from './requests.ts';
import { plainUri, resourceTables, uriFlaw } from './resources.ts';

/** The entries of a policy, by what a message acts on; undefined under a kind whose key the policy does not have. */
export interface Listing extends Readonly<Record<ListedKind, FindEntry | undefined>> {
  readonly entries: readonly Entry[];
}

/**
 * Compiles the lists of what may be called. Appends to `faults` what cannot be compiled.
 *
 * @returns undefined if the policy has none: then everything may be called that its own conditions allow.
 */
export function compileListing(
  document: PolicyDocument,
  compilers: readonly EntryCompiler[],
  faults: PolicyFault[],
): Listing | undefined {
  const { tools, resources, prompts, methods, requests } = document;
  if ((tools ?? resources ?? prompts ?? methods ?? requests) === undefined) return undefined;
  const other = (['tools', 'resources', 'prompts', 'methods'] as const).find((key) => document[key] !== undefined);
  if (requests !== undefined && other !== undefined) {
    const message = `cannot be combined with ${other}, which is for MCP routes: requests are those of HTTP routes`;
    faults.push({ path: ['requests'], message });
  }
  const entries: Entry[] = [];
  const compiled = (key: ListingKey): readonly Entry[] => {
    const own = compileEntries(key, document, compilers, faults);
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
      if (listed !== undefined || name.length > MAX_NAME_LENGTH || (key === 'methods' && isOnlyByName(name)))
        return listed;
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
    request: requests && requestTable(compiled('requests'), faults),
    entries,
  };
}

/** Whether no pattern covers a method, however a server reads its name. */
function isOnlyByName(method: string): boolean {
  return mcpMethod(plainName(method)).allowedBy === 'exact entry';
}

/** Reports `methods: { tools/call: {} }` without `tools`: it looks as if it allowed every tool, but allows none. */
function checkMethods(document: PolicyDocument, faults: PolicyFault[]): void {
  for (const [method, known] of knownRequests) {
    if (known.allowedBy !== 'target') continue;
    const { key } = listedKinds[known.target.kind];
    if (document[key] !== undefined || !Object.hasOwn(document.methods ?? {}, method)) continue;
    const message = `allows nothing without ${key}: list there what ${method} may act on, or "**" for everything`;
    faults.push({ path: ['methods', method], message: key === 'resources' ? message : message.replace('**', '*') });
  }
}

/** The entry of `methods` that applies to calls of a kind of target, if any. */
export function methodEntry(listing: Listing, kind: McpTarget['kind']): Entry | undefined {
  return listing.method?.(listedKinds[kind].usedBy);
}

/**
 * The entries whose conditions a call must meet. For a message: those of its targets, then that of its method, if any.
 * None for housekeeping that `methods` does not list. For a request: its own, if the policy lists requests.
 *
 * @returns an {@link Unlisted} if a target or a request is not listed, or the method of a message that has no target
 *   and is not housekeeping.
 */
export function entriesFor(listing: Listing, attempt: Attempt): readonly Entry[] | Unlisted {
  if (attempt.kind === 'mcp') return entriesOfMessage(listing, attempt);
  const { request } = attempt;
  if (listing.request === undefined) return [];
  const entry = request === undefined ? undefined : listing.request(request);
  return entry === undefined ? unlistedName('request', request) : [entry];
}

function entriesOfMessage(listing: Listing, { method, targets }: McpAttempt): readonly Entry[] | Unlisted {
  const { allowedBy } = method;
  const entries: Entry[] = [];
  for (const { kind, name } of targets) {
    const find = listing[kind];
    // The reference of a completion decides if the policy lists its kind; otherwise `methods` must allow the method.
    if (find === undefined && allowedBy === 'reference') continue;
    const entry = find?.(name);
    if (entry === undefined) return unlistedName(kind, name);
    entries.push(entry);
  }
  const kind = method.allowedBy === 'target' ? method.target.kind : undefined;
  if (kind !== undefined && !targets.some((target) => target.kind === kind)) return unlistedName(kind, undefined);

  const own = method.name === undefined ? undefined : listing.method?.(method.name);
  if (own !== undefined) return [...entries, own];
  const decided = kind !== undefined || (allowedBy === 'reference' && entries.length > 0);
  return decided || allowedBy === 'housekeeping' ? entries : unlistedName('method', method.name);
}

/** A target or method that the policy does not list. */
export interface Unlisted {
  readonly reason: PolicyReason;
  readonly rule: ListingKey;
  readonly kind: ListedKind;
  /** Undefined if the message names none. */
  readonly name: string | undefined;
}

function unlistedName(kind: ListedKind, name: string | undefined): Unlisted {
  const { key, unlisted } = listedKinds[kind];
  return { reason: unlisted, rule: key, kind, name };
}

/** The expectation instead of an unlisted name, and what was found. */
export function unlistedInWords({ kind, name }: Unlisted): Pick<Explanation, 'wanted' | 'found'> {
  const found = `${describeValue(name)}${whyUnlisted(kind, name)}`;
  if (kind === 'method') return { wanted: 'a method that is listed or protocol housekeeping', found };
  return { wanted: `a ${listedKinds[kind].word} that is listed`, found };
}

/** The readings of names by a lenient server. */
const plainSpelling: Readonly<Record<ListedKind, (name: string) => string>> = {
  tool: plainName,
  prompt: plainName,
  method: plainName,
  resource: plainUri,
  template: plainUri,
  request: shortestRequest,
};

/** Explains that only its spelling keeps a name from being covered. */
function whyUnlisted(kind: ListedKind, name: string | undefined): string {
  if (kind === 'method') return mcpMethod(name).allowedBy === 'exact entry' ? ': only an exact entry covers it' : '';
  if (name === undefined || name.length > MAX_URI_LENGTH) return '';
  const flaw = kind === 'resource' ? uriFlaw(name) : undefined;
  if (flaw !== undefined) return `: only an exact entry covers a URI with ${flaw}`;
  const plain = plainSpelling[kind](name);
  return plain === name ? '' : `: only an exact entry covers a name that some servers read as ${describeValue(plain)}`;
}

/** The denial of an unlisted target or method. It has no challenge: a new token would not help. */
export function unlistedDenial(unlisted: Unlisted): PolicyDenial {
  const { reason, rule } = unlisted;
  const { wanted, found } = unlistedInWords(unlisted);
  return { reason, rule, detail: `wanted ${wanted}, found ${found}`, scope: [] };
}
