import canonicalize from 'canonicalize';
import { hasDuplicateMembers } from '../core/lib/json/scanner.ts';
import { isObject, type Members, ownMember } from '../core/lib/json/own-member.ts';
import { parseToRewrite } from '../core/lib/json/lossless.ts';
import type { Definition, DefinitionKind } from './definitions.ts';
import { listedKinds, lockedLists } from '../core/model/mcp.ts';
import { decidingMember, eachOf, resultOf, unreadable, withResult } from './lists.ts';
import { createHash } from 'node:crypto';

/** Examines the definitions that a server shows. */
export interface DefinitionGuard {
  /**
   * Takes note of the definitions of one list, or of instructions.
   *
   * @param whole The kind of the list if it is all that the client asked for, and no page.
   * @returns Whether each of them may pass.
   */
  examine(shown: readonly (Definition | undefined)[], whole: DefinitionKind | undefined): readonly boolean[];
  /** The server says that its tools or prompts changed. */
  announced(): void;
  /** Judges messages that all parsers read alike, before anything else. @throws {Denial} */
  judge?(messages: readonly unknown[]): void;
}

const announcements = new Set<unknown>(
  lockedLists.map(({ kind }) => `notifications/${listedKinds[kind].key}/list_changed`),
);

/**
 * The text of a JSON-RPC message, or of a batch, without the definitions that may not pass; undefined where it holds
 * none. A text with definitions is written anew from the value that was examined.
 *
 * @param asked The kind that the client listed from the first page; undefined: it asked for anything else.
 * @throws {SyntaxError} for text that is not JSON.
 * @throws {Denial} `upstream.invalid` for what two parsers may read differently.
 */
export function guardedMessage(text: string, guard: DefinitionGuard, asked?: DefinitionKind): string | undefined {
  const plain: unknown = JSON.parse(text);
  if (hasDuplicateMembers(text, plain)) throw unreadable('two equal members of one object');
  const messages = Array.isArray(plain) ? (plain as unknown[]) : [plain];
  guard.judge?.(messages);
  if (messages.some((each) => isAnnouncement(each))) guard.announced();
  const shown = messages.map(shownIn);
  if (shown.every(({ length }) => length === 0)) return undefined;
  const kept = shown.map((each) =>
    each.map(({ member, definitions, whole }) => ({
      member,
      kept: guard.examine(definitions, whole === asked ? whole : undefined),
    })),
  );
  // Digests are over plain numbers. What is written keeps the digits that the server wrote.
  const written = eachOf(parseToRewrite(text), (each, index) =>
    without(each, kept[index] as readonly PassingEntries[]),
  );
  const changed = JSON.stringify(written);
  return changed === text ? undefined : changed;
}

function isAnnouncement(message: unknown): boolean {
  return isObject(message) && announcements.has(decidingMember(message, 'method'));
}

interface ShownList {
  readonly member: string;
  readonly definitions: readonly (Definition | undefined)[];
  /** The kind of a list that no page follows. */
  readonly whole: DefinitionKind | undefined;
}

interface PassingEntries {
  readonly member: string;
  readonly kept: readonly boolean[];
}

function shownIn(message: unknown): readonly ShownList[] {
  if (Array.isArray(message)) throw unreadable('a batch within a batch');
  const result = resultOf(message);
  if (result === undefined) return [];
  const shown: ShownList[] = [];
  const isLastPage = typeof ownMember(result, 'nextCursor') !== 'string';
  // In a result of any method: a client may take any answer for the one it awaits.
  for (const { member, kind } of lockedLists) {
    const entries = decidingMember(result, member);
    // Go writes an empty list as null.
    if (entries === undefined || entries === null) continue;
    if (!Array.isArray(entries)) throw unreadable(`${member} is not an array`);
    if (entries.length > MAX_DEFINITIONS) throw unreadable(`more than ${MAX_DEFINITIONS} ${member}`);
    shown.push({ member, definitions: definitionsIn(kind, entries), whole: isLastPage ? kind : undefined });
  }
  const instructions = decidingMember(result, 'instructions');
  if (instructions !== undefined && instructions !== null)
    shown.push({
      member: 'instructions',
      definitions: [definitionOf('instructions', '', instructions)],
      whole: undefined,
    });
  return shown;
}

/** The message without the entries that are not kept. Of `instructions`, the only entry is the member itself. */
function without(message: unknown, found: readonly PassingEntries[]): unknown {
  const result = resultOf(message) as Members;
  const changes = found.map(({ member, kept }) => {
    const value = result[member];
    const left = Array.isArray(value) ? value.filter((_, index) => kept[index]) : kept[0] === true ? value : undefined;
    return [member, left] as const;
  });
  return withResult(message, result, Object.fromEntries(changes));
}

/** The most definitions of one list. Their digests would take too long. */
export const MAX_DEFINITIONS = 10_000;
/** How many members of a definition have a digest of their own, and how long their names may be. */
const MAX_MEMBERS = 64;
/** The length of the digest of a member, in hex. It only names what changed: the digest of the whole decides. */
const MEMBER_DIGITS = 16;

/**
 * A definition as a lock knows it, from the value that JSON.parse returned. The order of members and the form of
 * numbers do not count. Every character of a string does, also where Unicode has another form of the same text.
 */
export function definitionOf(kind: DefinitionKind, name: string, value: unknown): Definition {
  const locked = isObject(value) ? lockedPartOf(value) : value;
  const canonical = canonicalText(locked);
  if (canonical === '') return { kind, name, sha256: '', members: {} };
  return { kind, name, sha256: digest(canonical), members: isObject(locked) ? memberDigests(locked) : {} };
}

function memberDigests(definition: Members): Readonly<Record<string, string>> {
  const named = Object.entries(definition).filter(([name]) => name.length <= MAX_MEMBERS);
  return Object.fromEntries(
    named.slice(0, MAX_MEMBERS).map(([name, value]) => [name, digest(canonicalText(value)).slice(0, MEMBER_DIGITS)]),
  );
}

/** The definition of each entry of a list; undefined for an entry without a name, which cannot be called. */
export function definitionsIn(
  kind: Exclude<DefinitionKind, 'instructions'>,
  entries: readonly unknown[],
): readonly (Definition | undefined)[] {
  return entries.map((entry) => {
    const name = ownMember(entry, 'name');
    if (typeof name !== 'string') return undefined;
    const definition = definitionOf(kind, name, entry);
    if (kind !== 'tool') return definition;
    const schemas = { input: ownMember(entry, 'inputSchema'), output: ownMember(entry, 'outputSchema') };
    return { ...definition, schemas };
  });
}

/**
 * The members of `_meta` that clients act on. MCP Apps (SEP-1865) selects the interface of a tool with `ui` or
 * `ui/resourceUri`; hosts have members of their own for that, and for hints to models. Some clients ignore case.
 */
const lockedMeta = /^(?:(?:io\.modelcontextprotocol\/)?ui(?:[./].*)?|(?:openai|anthropic)\/.*)$/isu;

/** A definition without the members of `_meta` that no client acts on: a server may write times there. */
function lockedPartOf({ _meta, ...rest }: Members): Members {
  if (!isObject(_meta)) return rest;
  const locked = Object.entries(_meta).filter(([name]) => lockedMeta.test(name));
  return locked.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(locked) };
}

/** `''` for what RFC 8785 §3.1 does not cover: lone surrogates, and numbers beyond IEEE 754. */
function canonicalText(value: unknown): string {
  try {
    return canonicalize(value) as string;
  } catch {
    return '';
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
