import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import type { Definition, DefinitionKind } from '../model/lock.ts';

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

function memberDigests(definition: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
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
    return typeof name === 'string' ? definitionOf(kind, name, entry) : undefined;
  });
}

/**
 * The members of `_meta` that clients act on. MCP Apps (SEP-1865) selects the interface of a tool with `ui` or
 * `ui/resourceUri`; hosts have members of their own for that, and for hints to models. Some clients ignore case.
 */
const lockedMeta = /^(?:(?:io\.modelcontextprotocol\/)?ui(?:[./].*)?|(?:openai|anthropic)\/.*)$/isu;

/** A definition without the members of `_meta` that no client acts on: a server may write times there. */
function lockedPartOf({ _meta, ...rest }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
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
