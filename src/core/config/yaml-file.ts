import {
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  visit,
  YAMLParseError,
} from 'yaml';
import { quoted } from '../lib/wording.ts';
import { layoutFlaw } from './layout.ts';
import { type Path, type Position, Problem } from './problems.ts';
import type { Violation } from './schema.ts';

/** A YAML file as plain values, with the way back to its text. */
export interface YamlFile {
  readonly file: string;
  /** Acyclic, at most {@link maxDepth} deep; undefined when there are problems, null for an empty file. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Where a place of the value is written: its key or its value. For a missing place, where it would belong. */
  position(path: Path, part: 'key' | 'value'): Position;
  /** Whether the text at a place is written without quotes. */
  readonly isPlain: (path: Path) => boolean;
}

/** A violation in a file as a problem. A missing key is reported at the mapping that lacks it. */
export function problemIn(file: YamlFile, { path, part, message }: Violation): Problem {
  return new Problem(file.file, file.position(path, part === 'key' ? 'key' : 'value'), path, message);
}

/** Deeper nesting is refused, because the library and later stages recurse: it would overflow the call stack. */
const maxDepth = 64;
const tooDeeply = `nested ${maxDepth + 1} levels deep: at most ${maxDepth} levels are accepted`;

/**
 * Messages for the library's errors. Its own messages quote the text, which may be an unquoted secret
 * (`client_secret: *x7`).
 */
const syntax: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias can have neither an anchor nor a tag',
  BAD_ALIAS: 'a name or value that starts with * needs quotes, unless it is the alias of an anchor',
  BAD_COLLECTION_TYPE: 'this tag does not fit the value',
  BAD_DIRECTIVE: 'an unknown directive; a value that starts with % needs quotes',
  BAD_DQ_ESCAPE: 'an unknown \\ escape in double quotes; write the text in single quotes',
  BAD_INDENT: 'wrong indentation',
  BAD_PROP_ORDER: 'anchors and tags come after the indicators - ? :',
  BAD_SCALAR_START: 'a value that starts with @, ` or % needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a nested mapping belongs on a line of its own; a value with ": " in it needs quotes',
  BLOCK_IN_FLOW: 'a block cannot stand inside { } or [ ]',
  DUPLICATE_KEY: 'a key of this mapping twice',
  IMPOSSIBLE: 'not YAML',
  KEY_OVER_1024_CHARS: 'a key is too long',
  MISSING_CHAR: 'a character is missing here: a colon, comma, bracket, quote or space',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a colon missing?',
  MULTIPLE_ANCHORS: 'two anchors on one value',
  MULTIPLE_DOCS: 'a second document starts here; one file holds one',
  MULTIPLE_TAGS: 'two tags on one value',
  NON_STRING_KEY: 'a key must be a string',
  RESOURCE_EXHAUSTION: tooDeeply,
  TAB_AS_INDENT: 'indent with spaces, not tabs',
  TAG_RESOLVE_FAILED: 'an unknown tag; a value that starts with ! needs quotes',
  UNEXPECTED_TOKEN: 'unexpected here; is a quote, bracket or line break missing before it?',
};

/** Parses the one YAML 1.2 document of a text. Never throws: its errors are in `problems`. */
export function parseYaml(file: string, text: string): YamlFile {
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const failed = (flaws: readonly Flaw[]): YamlFile => ({
    file,
    value: undefined,
    problems: flaws.map(([offset, why]) => new Problem(file, at(offset), [], why)),
    position: () => at(0),
    isPlain: () => false,
  });
  try {
    const document = parsedDocument(text, lines);
    const flaws = flawsOfSyntax(document, lines, text);
    if (flaws.length === 0) flaws.push(...flawsOfUse(document));
    if (flaws.length > 0) return failed(flaws);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    const tooDeep = deepest(value, []);
    if (tooDeep !== undefined) return failed([[offsetOf(document, tooDeep, 'value'), tooDeeply]]);
    return {
      file,
      value,
      problems: [],
      position: (path, part) => at(offsetOf(document, path, part)),
      isPlain: (path) => /^[^"'|>]/.test(text.slice(offsetOf(document, path, 'value'))),
    };
  } catch (error) {
    if (error instanceof NestingError) return failed([[error.offset, tooDeeply]]);
    // How the library refuses an alias bomb.
    if (error instanceof ReferenceError) return failed([[0, 'too many aliases']]);
    throw error;
  }
}

class NestingError extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super(tooDeeply);
    this.offset = offset;
  }
}

/** {@link parseDocument} of the library. @throws {NestingError} before anything recurses. */
function parsedDocument(text: string, lines: LineCounter): Document.Parsed {
  const composer = new Composer({ prettyErrors: false, stringKeys: true });
  const [document, second] = composer.compose(tokensOf(text, lines), true, text.length);
  if (document === undefined) throw new TypeError('a text without a document');
  if (second !== undefined) {
    const [start, end] = second.range;
    document.errors.push(new YAMLParseError([start, end], 'MULTIPLE_DOCS', ''));
  }
  return document;
}

/**
 * The syntax tree of a text. The parser keeps the open collections in a stack of its own, so what it holds is the
 * depth: quotes, comments, indentation and every other rule of YAML are judged by the parser itself.
 */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maxDepth) requireDepth(parser.stack);
  }
  yield* parser.end();
}

function requireDepth(stack: readonly CST.Token[]): void {
  const collections = stack.filter(({ type }) => /^(?:block-map|block-seq|flow-collection)$/.test(type));
  const tooDeep = collections[maxDepth];
  if (tooDeep !== undefined) throw new NestingError(tooDeep.offset);
}

type Flaw = readonly [offset: number, why: string];

/** Errors after which the parser reads the rest as if nothing was wrong. */
const harmless: ReadonlySet<ErrorCode> = new Set([
  'BAD_DQ_ESCAPE',
  'DUPLICATE_KEY',
  'MULTIPLE_DOCS',
  'TAG_RESOLVE_FAILED',
]);

/** Errors that often follow from another one above. */
const consequential: ReadonlySet<ErrorCode> = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'IMPOSSIBLE',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'UNEXPECTED_TOKEN',
]);

/**
 * At most one error a line and ten in all, without those that follow from an error above. A consequential one that
 * comes first is replaced by its cause in the layout, if that is found.
 */
function flawsOfSyntax(document: Document.Parsed, lines: LineCounter, text: string): Flaw[] {
  const byLine = new Map<number, Flaw>();
  let isBroken = false;
  for (const { pos, code } of [...document.errors, ...document.warnings].toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const unquoted = wordsOfUnquoted(text, pos[0]);
    const isConsequence = consequential.has(code) && unquoted === undefined;
    if (isConsequence && isBroken) continue;
    isBroken ||= !harmless.has(code);
    const words = code === 'DUPLICATE_KEY' ? wordsOfDuplicate(pos[0], document, lines) : syntax[code];
    const flaw: Flaw = (isConsequence && layoutFlaw(text)) || [startOfError(code, pos, text), unquoted ?? words];
    const { line } = lines.linePos(flaw[0]);
    if (!byLine.has(line)) byLine.set(line, flaw);
  }
  return [...byLine.values()].slice(0, 10);
}

/** For an error at a bracket in the middle of a text: inside { } or [ ], it ends a text without quotes. */
function wordsOfUnquoted(text: string, start: number): string | undefined {
  const [, before, bracket] = /^([^\s,:{}[\]"'])([{[])/.exec(text.slice(Math.max(0, start - 1), start + 1)) ?? [];
  if (bracket === undefined) return undefined;
  const what = before === '$' && bracket === '{' ? 'a placeholder' : `a text with ${bracket} in it`;
  return `${what} inside { } or [ ] needs quotes`;
}

function wordsOfDuplicate(start: number, document: Document, lines: LineCounter): string {
  let words = syntax.DUPLICATE_KEY;
  visit(document, {
    Map(_key, { items }) {
      const name = items.filter((pair) => startOf(pair.key) === start).map(keyOf)[0];
      const first = startOf(items.find((pair) => keyOf(pair) === name)?.key);
      if (typeof name !== 'string' || first === undefined) return undefined;
      const { line } = lines.linePos(first);
      words = `${quoted(name)} is already a key of this mapping, in line ${line}; write it once`;
      return visit.BREAK;
    },
  });
  return words;
}

/** The parser reports an alias without anchor at its end. */
function startOfError(code: ErrorCode, [start]: readonly [number, number], text: string): number {
  return code === 'BAD_ALIAS' ? text.lastIndexOf('*', start) : start;
}

/** YAML that the gateway does not accept: version 1.1 (where `off` is false), cycles, and tags beyond JSON. */
function flawsOfUse(document: Document.Parsed): Flaw[] {
  if (document.directives.yaml.version !== '1.2') return [[0, 'must be YAML 1.2']];
  const flaws: Flaw[] = [];
  visit(document, {
    Alias(_key, alias, ancestors) {
      const target = alias.resolve(document);
      if (target === undefined) flaws.push([startOf(alias) ?? 0, syntax.BAD_ALIAS]);
      if (ancestors.some((ancestor) => ancestor === target)) flaws.push([startOf(alias) ?? 0, 'an alias of itself']);
    },
    Value(_key, node) {
      if (node.tag === undefined || /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/.test(node.tag)) return;
      flaws.push([startOf(node) ?? 0, syntax.TAG_RESOLVE_FAILED]);
    },
  });
  return flaws;
}

/** A place deeper than {@link maxDepth}, if any. It walks the value, because aliases nest too. */
function deepest(value: unknown, path: Path): Path | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length >= maxDepth) return path;
  for (const [key, inner] of Object.entries(value)) {
    const found = deepest(inner, [...path, Array.isArray(value) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function offsetOf(document: Document.Parsed, path: Path, part: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [index, segment] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    const last = index === path.length - 1;
    if (isSeq(node) && typeof segment === 'number') node = node.items[segment];
    else if (isMap(node)) {
      const pair = node.items.find((pair) => keyOf(pair) === segment);
      if (pair === undefined) return offset;
      node = (last && part === 'key') || startOf(pair.value) === undefined ? pair.key : pair.value;
    } else return offset;
    offset = startOf(node) ?? offset;
  }
  return offset;
}

function keyOf(pair: Pair): unknown {
  return isScalar(pair.key) ? pair.key.value : pair.key;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? (node as Node).range?.[0] : undefined;
}
