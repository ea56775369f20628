/**
 * The schemas of `gateway.yaml` and of policies: those of the core, with the keys of each capability and of each part of
 * the policy language in their places.
 *
 * @module
 */

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, type Node, parseDocument, type YAMLMap } from 'yaml';

/** What has a schema of the core. */
type Language = 'gateway' | 'policy';

/** Keys of a capability or a part in one mapping of a schema. */
interface Insertion {
  /** Default: gateway. */
  readonly language?: Language;
  /** The path of the mapping: `$defs/route/properties`. */
  readonly into: string;
  /** The key of the core that they follow, or that follows them; default: they come first. */
  readonly after?: string;
  readonly before?: string;
  readonly keys: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL('../', import.meta.url));

/** A schema as text: the fragments are copied as they are written. */
export function composedSchema(language: Language): string {
  const core = readFileSync(new URL(`core/${language}.schema.json`, import.meta.url), 'utf8');
  const fragments = globSync('src/{capabilities,policy-parts}/*/schema.json', { cwd: root }).toSorted();
  return fragments
    .map((path) => readFileSync(root + path, 'utf8'))
    .reduce((schema, fragment) => withFragment(language, schema, fragment), core);
}

function withFragment(language: Language, schema: string, fragment: string): string {
  const texts = mapsIn(fragment);
  return (JSON.parse(fragment) as readonly Insertion[]).reduce((text, insertion, index) => {
    if ((insertion.language ?? 'gateway') !== language) return text;
    const keys = texts.in(`${index}/keys`).items.map(({ key, value }) => pieceOf(fragment, key as Node, value as Node));
    return inserted(text, insertion, keys);
  }, schema);
}

function inserted(text: string, { into, after, before }: Insertion, pieces: readonly string[]): string {
  const map = mapsIn(text).in(into);
  const [start, end] = rangeOf(map);
  const own = map.items.map(({ key, value }) => ({
    name: String((key as { readonly value?: unknown } & Node).value),
    start: rangeOf(key as Node)[0],
    end: rangeOf(value as Node)[1],
  }));
  const found = own.find(({ name }) => name === (after ?? before)) ?? own[0];
  if (after !== undefined && found?.name !== after) throw new Error(`${into} has no ${after}`);
  if (before !== undefined && found?.name !== before) throw new Error(`${into} has no ${before}`);
  if (found === undefined) {
    const line = ' '.repeat(/^ */.exec(text.slice(text.lastIndexOf('\n', start) + 1))?.[0].length ?? 0);
    const lines = pieces.map((piece) => indented(piece, `${line}  `)).join(',\n');
    return `${text.slice(0, start)}{\n${lines}\n${line}}${text.slice(end)}`;
  }
  const column = ' '.repeat(columnOf(text, found.start));
  const lines = pieces.map((piece) => indented(piece, column));
  if (after !== undefined) return `${text.slice(0, found.end)},\n${lines.join(',\n')}${text.slice(found.end)}`;
  const at = text.lastIndexOf('\n', found.start) + 1;
  return `${text.slice(0, at)}${lines.map((each) => `${each},\n`).join('')}${text.slice(at)}`;
}

/** A key with its value, from the first column. */
function pieceOf(text: string, key: Node, value: Node): string {
  const [start] = rangeOf(key);
  const column = columnOf(text, start);
  const lines = text.slice(start, rangeOf(value)[1]).split('\n');
  return lines.map((line, index) => (index === 0 ? line : line.slice(column))).join('\n');
}

function indented(piece: string, indent: string): string {
  return piece.replaceAll(/^/gm, indent);
}

function columnOf(text: string, at: number): number {
  return at - text.lastIndexOf('\n', at) - 1;
}

/** JSON is YAML, whose parser says where each value stands. */
function mapsIn(text: string): { in(path: string): YAMLMap } {
  const document = parseDocument(text);
  return {
    in(path) {
      const found = document.getIn(path.split('/').map((step) => (/^\d+$/.test(step) ? Number(step) : step)));
      if (!isMap(found)) throw new Error(`${path} is no mapping`);
      return found;
    },
  };
}

function rangeOf({ range }: Node): readonly [start: number, end: number] {
  if (range === null || range === undefined) throw new TypeError('a parsed node has a range');
  return [range[0], range[1]];
}
