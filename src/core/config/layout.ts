import { quoted } from '../lib/wording.ts';

/** A mistake in the layout of a YAML text: where it begins, and what is wrong. */
export type LayoutFlaw = readonly [offset: number, why: string];

/** A level of nesting that is open: keys, or list items, with one indentation. */
interface Level {
  readonly kind: 'key' | 'item';
  readonly indent: number;
  /** Its newest entry, and the one before. */
  last: Entry;
  before?: Entry;
}

interface Entry {
  readonly kind: Level['kind'];
  readonly offset: number;
  readonly indent: number;
  /** In quotes, for a message. */
  readonly name: string;
  /** Whether it has a value, on its line or below. */
  isFilled: boolean;
}

/** A bracket or quote that is open at the end of a line. */
interface Opener {
  readonly character: string;
  readonly offset: number;
}

/** A line of one word where a key is expected. With more below it, it is a key. */
interface Word {
  readonly name: string;
  readonly indent: number;
  readonly offset: number;
}

const key = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'{}[\],&!|>%@`#?-][^#]*?)\s*:(?:\s+(.*))?$/;
const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']', '"': '"', "'": "'" };

/**
 * The first mistake in the indentation, brackets and quotes of a text that is not YAML; undefined if they are in order.
 * A YAML parser reports where it can no longer go on, which is often lines below the cause.
 */
export function layoutFlaw(text: string): LayoutFlaw | undefined {
  const levels: Level[] = [];
  let openers: readonly Opener[] = [];
  let blockTextIndent = Infinity;
  let word: Word | undefined;
  let offset = 0;
  for (const line of text.split('\n')) {
    const start = offset;
    offset += line.length + 1;
    const content = line.trim();
    const indent = line.length - line.trimStart().length;
    if (content === '' || content.startsWith('#') || indent > blockTextIndent) continue;
    blockTextIndent = Infinity;
    const opener = openers.at(-1);
    if (opener !== undefined) {
      const isOutside = indent <= (levels.at(-1)?.indent ?? 0) && key.test(content.replace(/^- +/, ''));
      if (isOutside) return unclosed(opener);
      openers = openAfter(line, start, openers);
      continue;
    }
    const { entries, value, valueOffset } = entriesOf(line, start);
    const above = word;
    if (above !== undefined && (indent > above.indent || (indent === above.indent && content.startsWith('- ')))) {
      return [above.offset, `${quoted(above.name)} is a key without a colon; write ${quoted(`${above.name}:`)}`];
    }
    const isBeside = levels.length === 0 || levels.some((level) => level.kind === 'key' && level.indent === indent);
    word =
      isBeside && /^[A-Za-z_][\w-]*$/.test(content) ? { name: content, indent, offset: start + indent } : undefined;
    for (const entry of entries) {
      const flaw = place(entry, levels);
      if (flaw !== undefined) return flaw;
    }
    if (entries.length === 0 && levels.at(-1)?.indent === indent && /^[a-z_]+:(?!\/\/)\S/.test(content)) {
      return [start + indent, 'add a space after the colon'];
    }
    if (/^[|>][-+0-9]*(?:\s+#.*)?$/.test(value)) blockTextIndent = levels.at(-1)?.indent ?? 0;
    if (/^[{["']/.test(value)) openers = openAfter(value, valueOffset, []);
  }
  const innermost = openers.at(-1);
  return innermost && unclosed(innermost);
}

function unclosed({ character, offset }: Opener): LayoutFlaw {
  const closer = closers[character];
  return [
    offset,
    closer === character ? `add the closing ${closer}` : `this ${character} is not closed; add ${closer}`,
  ];
}

function entriesOf(line: string, start: number): { entries: readonly Entry[]; value: string; valueOffset: number } {
  const entries: Entry[] = [];
  let at = line.length - line.trimStart().length;
  let rest = line.slice(at).trimEnd();
  for (let item = /^-(?:\s+|$)/.exec(rest); item !== null; item = /^-(?:\s+|$)/.exec(rest)) {
    rest = rest.slice(item[0].length);
    const isFilled = rest !== '' && !rest.startsWith('#');
    entries.push({ kind: 'item', offset: start + at, indent: at, name: 'the list item', isFilled });
    at += item[0].length;
  }
  const [, name, value = ''] = key.exec(rest) ?? [];
  if (name === undefined) return { entries, value: rest, valueOffset: start + at };
  const isFilled = value !== '' && !/^(?:#|[&!][^\s]*$)/.test(value);
  entries.push({
    kind: 'key',
    offset: start + at,
    indent: at,
    name: quoted(name.replaceAll(/^["']|["']$/g, '')),
    isFilled,
  });
  return { entries, value, valueOffset: start + at + rest.length - value.length };
}

function place(entry: Entry, levels: Level[]): LayoutFlaw | undefined {
  const { kind, indent } = entry;
  let left: Level | undefined;
  while ((levels.at(-1)?.indent ?? -1) > indent) left = levels.pop();
  // The items of a list may have the indentation of its key.
  if (kind === 'key' && levels.at(-1)?.indent === indent && levels.at(-2)?.indent === indent) levels.pop();
  const level = levels.at(-1);
  if (level?.indent === indent && level.kind === kind) {
    level.before = level.last;
    level.last = entry;
    return undefined;
  }
  if (level !== undefined) {
    if (left !== undefined && level.indent < indent) return betweenLevels(entry, level, left);
    if (level.indent === indent && kind === 'key') {
      return [entry.offset, `${entry.name} is a key between list items; indent it, or begin it with "- "`];
    }
    if (level.indent === indent && level.last.isFilled) {
      return [entry.offset, 'a list item between keys; write it as a key, such as NAME: {}'];
    }
    if (level.indent < indent && level.kind === 'key' && level.last.isFilled) return tooDeep(entry, level);
    level.last.isFilled = true;
  }
  levels.push({ kind, indent, last: entry });
  return undefined;
}

function spaces({ indent }: Entry): string {
  return `${indent} space${indent === 1 ? '' : 's'}`;
}

function uneven(entry: Entry, above: Entry): LayoutFlaw {
  const indents = `${entry.name} is indented by ${spaces(entry)} and ${above.name} above it by ${above.indent}`;
  return [entry.offset, `${indents}; indent both alike`];
}

/** An entry that fits neither the level outside nor the one inside: it may belong to each that has its kind. */
function betweenLevels(entry: Entry, outer: Level, inner: Level): LayoutFlaw {
  if (outer.kind !== entry.kind) return uneven(entry, inner.last);
  const beside = `indent it by ${outer.indent} like ${outer.last.name} above it`;
  const orInside = inner.kind === entry.kind ? `, or by ${inner.indent} like ${inner.last.name}` : '';
  return [entry.offset, `${entry.name} is indented by ${spaces(entry)}: ${beside}${orInside}`];
}

/** An entry below one that has a value already. If the key above that one is empty, that one is at fault. */
function tooDeep(entry: Entry, { last, before }: Level): LayoutFlaw {
  if (before?.isFilled === false) {
    const indents = `${last.name} is indented by ${spaces(last)} and ${entry.name} below it by ${entry.indent}`;
    return [last.offset, `${indents}; indent both alike, below ${before.name}`];
  }
  return uneven(entry, last);
}

function openAfter(line: string, start: number, before: readonly Opener[]): readonly Opener[] {
  const open = [...before];
  for (const [index, character] of line.split('').entries()) {
    const innermost = open.at(-1)?.character;
    const previous = line[index - 1] ?? ' ';
    if (innermost === '"' || innermost === "'") {
      if (character === innermost && previous !== '\\') open.pop();
    } else if (character === '#' && previous === ' ') break;
    else if (innermost !== undefined && character === closers[innermost]) open.pop();
    else if (/[{[]/.test(character) && previous !== '$') open.push({ character, offset: start + index });
    else if (/["']/.test(character) && /[\s{[,:]/.test(previous)) open.push({ character, offset: start + index });
  }
  return open;
}
