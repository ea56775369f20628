import { endOfScalar, endOfString, JsonScanError, skipWhitespace } from '../core/lib/json/scanner.ts';

/** A string in a JSON text, and the string that replaces it. */
export interface Change {
  /** Keys and array indexes from the top. */
  readonly path: readonly string[];
  readonly from: string;
  readonly to: string;
}

/** Changes by key or index, down to the string itself. */
type Changes = Map<string, Changes | Change>;

/**
 * A JSON text with some of its strings replaced and every other character unchanged: spaces, escapes, the digits of
 * numbers.
 *
 * @throws {SyntaxError} where a string does not stand at its path exactly once: the text is not the one that was read.
 * @throws {JsonScanError} where `text` is not JSON.
 */
export function spliceStrings(text: string, changes: readonly Change[]): string {
  const top: Changes = new Map();
  for (const change of changes) add(top, change);
  const pieces: string[] = [];
  let copied = 0;
  let spliced = 0;
  visit(0, top);
  if (spliced !== changes.length) throw new SyntaxError('a string to change was not found');
  return pieces.join('') + text.slice(copied);

  /** Walks the value at `start`; returns its end. */
  function visit(start: number, wanted: Changes | Change | undefined): number {
    const at = skipWhitespace(text, start);
    if (wanted === undefined) return endOfValue(text, at);
    if (!(wanted instanceof Map)) return splice(at, wanted);
    const isObject = text[at] === '{';
    if (!isObject && text[at] !== '[') return endOfValue(text, at);
    let next = skipWhitespace(text, at + 1);
    for (let i = 0; text[next] !== '}' && text[next] !== ']'; i += 1) {
      let key = String(i);
      if (isObject) {
        const end = endOfString(text, next);
        key = JSON.parse(text.slice(next, end)) as string;
        next = skipWhitespace(text, end) + ':'.length;
      }
      next = skipWhitespace(text, visit(next, wanted.get(key)));
      if (text[next] === ',') next = skipWhitespace(text, next + 1);
    }
    return next + 1;
  }

  function splice(at: number, { from, to }: Change): number {
    const end = endOfValue(text, at);
    if (JSON.parse(text.slice(at, end)) !== from) throw new SyntaxError('another value where a string is to change');
    pieces.push(text.slice(copied, at), JSON.stringify(to));
    copied = end;
    spliced += 1;
    return end;
  }
}

/**
 * A JSON text without some members of an object that is a member of it. All else stays as it is, but for the spaces
 * between the members of that object.
 *
 * @throws {JsonScanError} where `text` is not JSON.
 */
export function withoutMembers(text: string, key: string, names: readonly string[]): string {
  const outer = membersIn(text, skipWhitespace(text, 0)).find((member) => member.key === key);
  if (outer === undefined || text[outer.value] !== '{') return text;
  const kept = membersIn(text, outer.value).filter((member) => !names.includes(member.key));
  const members = kept.map(({ start, end }) => text.slice(start, end));
  return `${text.slice(0, outer.value)}{${members.join(',')}}${text.slice(outer.end)}`;
}

/** The text of a member of the object that a JSON text is: the last one of that key; undefined without one. */
export function memberText(text: string, key: string): string | undefined {
  const found = membersIn(text, skipWhitespace(text, 0)).findLast((member) => member.key === key);
  return found && text.slice(found.value, found.end);
}

/** A member of an object in a text: where it begins, where its value does, and where that ends. */
interface TextMember {
  readonly key: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

function membersIn(text: string, at: number): readonly TextMember[] {
  const found: TextMember[] = [];
  if (text[at] !== '{') return found;
  let next = skipWhitespace(text, at + 1);
  while (text[next] !== '}') {
    const start = next;
    const endOfKey = endOfString(text, start);
    const value = skipWhitespace(text, skipWhitespace(text, endOfKey) + ':'.length);
    const end = endOfValue(text, value);
    found.push({ key: JSON.parse(text.slice(start, endOfKey)) as string, start, value, end });
    next = skipWhitespace(text, end);
    if (text[next] === ',') next = skipWhitespace(text, next + 1);
  }
  return found;
}

function add(top: Changes, change: Change): void {
  let changes = top;
  for (const key of change.path.slice(0, -1)) {
    const below = changes.get(key) ?? new Map<string, Changes | Change>();
    changes.set(key, below);
    if (!(below instanceof Map)) throw new SyntaxError('one string within another');
    changes = below;
  }
  changes.set(change.path.at(-1) ?? '', change);
}

function endOfValue(text: string, start: number): number {
  if (text[start] !== '{' && text[start] !== '[') return endOfScalar(text, start, text.charCodeAt(start));
  let depth = 0;
  let at = start;
  do {
    const character = text[at];
    if (character === undefined) throw new JsonScanError('malformed', 'a value without its end', at);
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    at = character === '"' ? endOfString(text, at) : at + 1;
  } while (depth > 0);
  return at;
}
