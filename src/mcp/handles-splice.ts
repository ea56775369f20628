/** A string in a JSON text that is to become another one. */
export interface Change {
  /** Keys and array indexes from the top. */
  readonly path: readonly string[];
  readonly from: string;
  readonly to: string;
}

/** Changes by key or index, down to the string itself. */
type Changes = Map<string, Changes | Change>;

/**
 * A JSON text with some of its strings changed, and every other character as it was: spaces, escapes, the digits of
 * numbers. `text` must be JSON already.
 *
 * @throws {SyntaxError} where a string is not found at its path, once: the text would be another than was looked at.
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

  /** Walks the value at `at`; returns its end. */
  function visit(start: number, wanted: Changes | Change | undefined): number {
    const at = skipSpace(text, start);
    if (wanted === undefined) return endOfValue(text, at);
    if (!(wanted instanceof Map)) return splice(at, wanted);
    const isObject = text[at] === '{';
    if (!isObject && text[at] !== '[') return endOfValue(text, at);
    let next = skipSpace(text, at + 1);
    for (let i = 0; text[next] !== '}' && text[next] !== ']'; i += 1) {
      let key = String(i);
      if (isObject) {
        const end = endOfString(text, next);
        key = JSON.parse(text.slice(next, end)) as string;
        next = skipSpace(text, end) + ':'.length;
      }
      next = skipSpace(text, visit(next, wanted.get(key)));
      if (text[next] === ',') next = skipSpace(text, next + 1);
    }
    return next + 1;
  }

  function splice(at: number, { from, to }: Change): number {
    const end = endOfString(text, at);
    if (JSON.parse(text.slice(at, end)) !== from) throw new SyntaxError('another value where a string is to change');
    pieces.push(text.slice(copied, at), JSON.stringify(to));
    copied = end;
    spliced += 1;
    return end;
  }
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

const scalar = /[^\s,\]}]*/y;

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== '{' && first !== '[') {
    scalar.lastIndex = start;
    scalar.test(text);
    return scalar.lastIndex;
  }
  let depth = 0;
  let at = start;
  do {
    const character = requireCharacter(text, at);
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    at = character === '"' ? endOfString(text, at) : at + 1;
  } while (depth > 0);
  return at;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (requireCharacter(text, at) !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function requireCharacter(text: string, at: number): string {
  const character = text[at];
  if (character === undefined) throw new SyntaxError('the end of the text within a value');
  return character;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}
