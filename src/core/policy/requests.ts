/**
 * @module `requests`: which entry decides a request of an HTTP route, by its method and its canonical path, as they are
 * written and as a lenient server reads them. The paths are a tree of segments, so that a look-up takes as long as the
 * path is deep, however many entries there are.
 */

import { droppable, segmentReadings, visiblePath, withDecodedSlashes } from '../lib/http/lenient-path.ts';
import { ENCODED_SLASH, pathFlaw, withOneSlash } from '../lib/http/path-flaw.ts';
import type { PolicyFault } from './document.ts';
import { variablesIn, withoutVariables } from './pattern.ts';

/** A name of `requests`, compiled: `GET /orders/*`. */
interface RequestPattern {
  /** `*`: every method. */
  readonly method: string;
  /** Undefined for `*`: any segment that is not empty. */
  readonly segments: readonly (string | undefined)[];
  /** Whether it ends with `/**`: any rest, also none. */
  readonly hasRest: boolean;
  /** The characters besides wildcards: the more, the more specific. An exact path precedes every pattern. */
  readonly literals: number;
}

/** A method in capitals, RFC 9110 §9.1, a space and a path. */
const form = /^(?:\*|[A-Z]+(?:-[A-Z]+)*) \//;

/** A segment that is a variable: `{id}`. */
const variableSegment = /(?<=\/)\{[A-Za-z][A-Za-z0-9_]*\}(?=\/|$)/g;

/**
 * The flaw that keeps a text from being a request, `GET /orders`, or with `*` a pattern of requests, or with `{name}` a
 * key of `requests`; undefined for none.
 */
export function requestFlaw(text: string, allows: 'keys' | 'patterns' | 'requests'): string | undefined {
  if (allows === 'keys') return keyFlaw(text);
  const [method, path] = partsOf(text);
  if (!form.test(text) || (method === '*' && allows === 'requests')) {
    const methods = allows === 'patterns' ? 'in capitals or *' : 'in capitals';
    return `is not a method ${methods}, one space, and a path that begins with /, such as GET /orders`;
  }
  if (/[?#]/.test(path)) return 'has a query or a fragment; policies decide on the path alone';
  if (/[{}]/.test(path)) return 'has braces, which no path has; write * for any segment';
  // Whether a route takes an encoded slash is for its `encoded_slashes` to say.
  const flaw = pathFlaw(path, 'pass');
  if (flaw !== undefined) return `has a path that no request can have: ${flaw}`;
  if (allows === 'requests') return undefined;
  // CONNECT opens a tunnel and TRACE echoes the client's headers: the gateway forwards neither.
  if (method === 'CONNECT' || method === 'TRACE') return 'is never forwarded';
  const segments = withoutRest(path).split('/');
  if (segments.includes('**')) return 'has ** before the end; it stands for a rest, and * for one segment';
  if (segments.some((segment) => segment.includes('*') && segment !== '*')) {
    return 'has a * inside a segment; write * for a whole segment, or %2A for the character';
  }
  return undefined;
}

function keyFlaw(key: string): string | undefined {
  const pattern = key.replaceAll(variableSegment, '*');
  if (/[{}]/.test(partsOf(pattern)[1])) {
    return 'has braces that are no variable: write {name} for a whole segment, a letter and then letters, digits or _';
  }
  const names = variablesIn(key);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? requestFlaw(pattern, 'patterns') : `has the variable {${twice}} twice`;
}

/** The method and the segments of a key or of a request. */
export function methodAndSegments(name: string): readonly [method: string, segments: readonly string[]] {
  const [method, path] = partsOf(name);
  return [method, segmentsOf(path)];
}

/** The index of the segment that a variable of a key stands for. */
export function segmentOf(key: string, name: string): number {
  return segmentsOf(partsOf(key)[1]).indexOf(`{${name}}`);
}

/** Compiles a key of `requests`: finds the segment that a variable of it stands for. */
export function requestVariable(key: string, name: string): (request: string) => readonly string[] {
  const index = segmentOf(key, name);
  return (request) => {
    let start = request.indexOf('/') + 1;
    for (let left = index; left > 0 && start > 0; left -= 1) start = request.indexOf('/', start) + 1;
    if (start === 0) return [];
    const end = request.indexOf('/', start);
    return [request.slice(start, end === -1 ? undefined : end)];
  };
}

/** Compiles a name in which {@link requestFlaw} finds no flaw. */
export function requestPattern(name: string): RequestPattern {
  const [method, path] = partsOf(withoutVariables(name));
  const bare = withoutRest(path);
  return {
    method,
    segments: segmentsOf(bare).map((segment) => (segment === '*' ? undefined : segment)),
    hasRest: bare !== path,
    literals: path.includes('*') ? bare.replaceAll('*', '').length : Number.POSITIVE_INFINITY,
  };
}

function withoutRest(path: string): string {
  return path.endsWith('/**') ? path.slice(0, -3) : path;
}

function partsOf(name: string): readonly [method: string, path: string] {
  const space = name.indexOf(' ');
  return [name.slice(0, space), withOneSlash(name.slice(space + 1))];
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1);
}

/** The precision with which a pattern names a method; 0: not at all. RFC 9110 §9.3.2: HEAD is GET without a body. */
function rankOf(entry: RequestPattern, method: string): number {
  if (entry.method === method) return 3;
  if (entry.method === 'GET' && method === 'HEAD') return 2;
  return entry.method === '*' ? 1 : 0;
}

/** The paths that a pattern covers, or the one of a request. */
type Paths = Pick<RequestPattern, 'segments' | 'hasRest'>;

function haveCommonPath(one: Paths, other: Paths): boolean {
  if (one.segments.length > other.segments.length) return haveCommonPath(other, one);
  const isLonger = one.segments.length < other.segments.length;
  return (one.hasRest || !isLonger) && one.segments.every((segment, index) => meet(segment, other.segments[index]));
}

function meet(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return one !== '' && other !== '';
  return one === other;
}

/** Whether two patterns, or a pattern and a request, cover one request. */
export function haveCommonRequest(one: string, other: string): boolean {
  const [own, their] = [requestPattern(one), requestPattern(other)];
  const haveMethod = rankOf(own, their.method) > 0 || rankOf(their, own.method) > 0;
  return haveMethod && haveCommonPath(own, their);
}

/** Compiles keys: finds the one that decides a request as it is written. */
export function writtenRequest(keys: readonly string[]): (request: string) => string | undefined {
  const tree = new RequestTree<string>();
  for (const name of keys) tree.add({ ...requestPattern(name), entry: name, plain: name });
  return (request) => {
    const [method, path] = partsOf(request);
    return tree.find(method, segmentsOf(path))?.entry;
  };
}

/**
 * Whether one of some patterns covers a request, as it is written.
 *
 * @param reading `plain`: as a lenient server reads the patterns and the request.
 */
export function requestsCoveredBy(
  patterns: readonly string[],
  reading: 'written' | 'plain',
): (name: string) => boolean {
  const isPlain = reading === 'plain';
  const tree = new RequestTree<string>();
  for (const name of patterns) {
    const pattern = requestPattern(name);
    tree.add({ ...pattern, ...(isPlain && plainPattern(pattern)), entry: name, plain: name });
    if (isPlain && hasSlash(name)) tree.add({ ...decodedPattern(pattern), entry: name, plain: name });
  }
  return (name) => {
    const [method, path] = partsOf(name);
    if (!isPlain) return tree.find(method, segmentsOf(path)) !== undefined;
    const readings = hasSlash(path) ? [plainSegments(path), decodedSegments(path)] : [plainSegments(path)];
    return readings.some((segments) => tree.findAny(method, segments) !== undefined);
  };
}

/** The segments of a path as a lenient server reads it. */
function plainSegments(path: string): readonly string[] {
  return segmentsIn(visiblePath(path));
}

/** The segments of a path as a server reads it that decodes slashes first, and is lenient otherwise. */
function decodedSegments(path: string): readonly string[] {
  return segmentsIn(withDecodedSlashes(visiblePath(path)));
}

function hasSlash(text: string): boolean {
  return withOneSlash(text).includes(ENCODED_SLASH);
}

function segmentsIn(text: string): readonly string[] {
  return (
    text
      .split(/[/\\]/)
      .map((segment) => segment.trimStart().replace(/(?<![\s.])[\s.]+$/u, ''))
      // A plus may be a space, and a segment of spaces none.
      .filter((segment) => !/^[\s+]*$/u.test(segment))
  );
}

/** A pattern as a lenient server reads it. */
export function plainPattern(pattern: RequestPattern): RequestPattern {
  const segments = pattern.segments.flatMap((segment) => (segment === undefined ? segment : plainSegments(segment)));
  return { ...pattern, segments };
}

function decodedPattern(pattern: RequestPattern): RequestPattern {
  const segments = pattern.segments.flatMap((segment) => (segment === undefined ? segment : decodedSegments(segment)));
  return { ...pattern, segments };
}

/** A pattern as text: no two of them are equal. */
export function patternText({ method, segments, hasRest }: RequestPattern): string {
  return JSON.stringify([method, segments, hasRest]);
}

/** A request as a lenient server reads it. */
export function plainRequest(name: string): string {
  const [method, path] = partsOf(name);
  return `${method} /${plainSegments(path).join('/')}`;
}

/** The shortest reading of a request: also without extensions and streams of NTFS. */
export function shortestRequest(name: string): string {
  const [method, path] = partsOf(name);
  const segments = plainSegments(path).map((segment) => segmentReadings(segment, segment.length)[0] ?? segment);
  return `${method} /${segments.join('/')}`;
}

interface RequestEntry {
  readonly key: string;
  readonly name: string;
}

/** A node in the tree of the segments of paths: what the paths that end there, or go on in any way, are decided by. */
interface PathNode<Entry> {
  readonly children: Map<string, PathNode<Entry>>;
  /** After `*`. */
  anyChild?: PathNode<Entry>;
  readonly ends: Candidate<Entry>[];
  readonly rests: Candidate<Entry>[];
}

interface Candidate<Entry> extends RequestPattern {
  readonly entry: Entry;
  /** Names what it covers as a lenient server reads it. */
  readonly plain: string;
}

/** Finds the entry that decides a request, among patterns that are a tree. */
class RequestTree<Entry> {
  readonly #root: PathNode<Entry> = newNode();
  #longest = 0;

  add(candidate: Candidate<Entry>): void {
    let node = this.#root;
    for (const segment of candidate.segments) {
      node = childOf(node, segment);
      this.#longest = Math.max(this.#longest, segment?.length ?? 0);
    }
    (candidate.hasRest ? node.rests : node.ends).push(candidate);
  }

  /** Finds the entry for a request as it is written. */
  find(method: string, segments: readonly string[]): Candidate<Entry> | undefined {
    return this.#find(method, segments, ({ children }, segment) => children.get(segment) ?? none);
  }

  /** Finds the most specific entry for any of the {@link segmentReadings} of a request. */
  findAny(method: string, segments: readonly string[]): Candidate<Entry> | undefined {
    return this.#find(method, segments, ({ children }, segment) => {
      if (!droppable.test(segment)) return children.get(segment) ?? none;
      const readings = new Set([segment, ...segmentReadings(segment, this.#longest)]);
      return [...readings].flatMap((reading) => children.get(reading) ?? none);
    });
  }

  #find(
    method: string,
    segments: readonly string[],
    named: (node: PathNode<Entry>, segment: string) => PathNode<Entry> | readonly PathNode<Entry>[],
  ): Candidate<Entry> | undefined {
    let nodes: readonly PathNode<Entry>[] = [this.#root];
    let found: Candidate<Entry> | undefined;
    for (const segment of segments) {
      for (const { rests } of nodes) found = preferred(found, rests, method);
      nodes = nodes.flatMap((node) => {
        const { anyChild } = node;
        if (segment === '' || anyChild === undefined) return named(node, segment);
        return [named(node, segment), anyChild].flat();
      });
    }
    for (const { ends, rests } of nodes) found = preferred(preferred(found, rests, method), ends, method);
    return found;
  }
}

const none: readonly never[] = [];

function newNode<Entry>(): PathNode<Entry> {
  return { children: new Map(), ends: [], rests: [] };
}

function childOf<Entry>(node: PathNode<Entry>, segment: string | undefined): PathNode<Entry> {
  if (segment === undefined) return (node.anyChild ??= newNode());
  const child = node.children.get(segment) ?? newNode<Entry>();
  node.children.set(segment, child);
  return child;
}

function preferred<Entry>(
  found: Candidate<Entry> | undefined,
  candidates: readonly Candidate<Entry>[],
  method: string,
): Candidate<Entry> | undefined {
  let best = found;
  for (const candidate of candidates) {
    const rank = rankOf(candidate, method);
    if (rank === 0) continue;
    const isBetter =
      best === undefined ||
      candidate.literals > best.literals ||
      (candidate.literals === best.literals && rank > rankOf(best, method));
    if (isBetter) best = candidate;
  }
  return best;
}

/** What a lenient server may read in another way: capitals, encoded characters, and ends of names. */
const lenientPath = /[A-Z%.+]|:[:$]|.\/$/;

/**
 * Compiles the entries of `requests`. An exact path precedes a pattern, and a pattern with more literal characters one
 * with fewer; then a named method precedes `GET` for HEAD, and that `*`. Appends names with a flaw, and entries that
 * tie, to `faults`.
 *
 * A request that a pattern or `*` covers only in its own spelling is not listed, if another entry decides it for a
 * server that ignores case, percent-encoding, a trailing slash, spaces around a segment, or dots, extensions and
 * streams at its end; with an encoded slash, also if another entry decides it for a server that decodes that first.
 */
export function requestTable<Entry extends RequestEntry>(
  entries: readonly Entry[],
  faults: PolicyFault[],
): (name: string) => Entry | undefined {
  const candidates: Candidate<Entry>[] = [];
  // So that the order of the file never matters.
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const flaw = requestFlaw(entry.name, 'keys');
    if (flaw === undefined) candidates.push(candidateOf(entry));
    else faults.push({ path: [entry.key, entry.name], message: flaw });
  }
  // Two exact paths tie only by the spelling of an encoded slash: their names would be equal.
  const canTie = ({ literals, entry }: Candidate<Entry>): boolean =>
    literals !== Number.POSITIVE_INFINITY || hasSlash(entry.name);
  for (const equal of Map.groupBy(
    candidates.filter(canTie),
    ({ method, literals }) => `${literals} ${method}`,
  ).values())
    checkTies(equal, faults);

  const written = new RequestTree<Entry>();
  const plain = new RequestTree<Entry>();
  const decoded = candidates.some(({ entry }) => hasSlash(entry.name)) ? new RequestTree<Entry>() : plain;
  for (const candidate of candidates) {
    written.add(candidate);
    plain.add({ ...candidate, ...plainPattern(candidate) });
    if (decoded !== plain) decoded.add({ ...candidate, ...decodedPattern(candidate) });
  }
  const areAllPlain = candidates.every((candidate) => patternText(candidate) === candidate.plain);
  const isMistakable = (found: Candidate<Entry>, method: string, path: string): boolean => {
    if (areAllPlain && !lenientPath.test(path)) return false;
    const text = visiblePath(path);
    if (plain.findAny(method, segmentsIn(text))?.plain !== found.plain) return true;
    const other = hasSlash(path) ? decoded.findAny(method, segmentsIn(withDecodedSlashes(text))) : undefined;
    if (other !== undefined && other.plain !== found.plain) return true;
    // A proxy that decodes the path and writes it into another URL ends it there.
    const cut = plain.findAny(method, segmentsIn(text.replace(/[?#].*/s, '')));
    return cut !== undefined && cut.plain !== found.plain;
  };
  return (name) => {
    const [method, path] = partsOf(name);
    const found = written.find(method, segmentsOf(path));
    // Nothing is stricter than an exact path with the method itself.
    if (found === undefined || (found.literals === Number.POSITIVE_INFINITY && found.method === method)) {
      return found?.entry;
    }
    return isMistakable(found, method, path) ? undefined : found.entry;
  };
}

function candidateOf<Entry extends RequestEntry>(entry: Entry): Candidate<Entry> {
  const pattern = requestPattern(entry.name);
  return { ...pattern, entry, plain: patternText(plainPattern(pattern)) };
}

/** @param candidates Of one method, and with as many literal characters. */
function checkTies(candidates: readonly Candidate<RequestEntry>[], faults: PolicyFault[]): void {
  for (const [index, candidate] of candidates.entries()) {
    const { entry } = candidate;
    const twin = candidates.slice(0, index).find((other) => haveCommonPath(other, candidate));
    if (twin === undefined) continue;
    const other = JSON.stringify(twin.entry.name);
    const message = `decides some of the same requests as ${other}, and neither is more specific`;
    faults.push({ path: [entry.key, entry.name], message });
  }
}
