/**
 * @module `requests`: which entry decides a request of an HTTP route, by its method and its canonical path. The paths
 * are a tree of segments, so that a look-up takes as long as the path is deep, however many entries there are.
 */

import type { Entry, FindEntry } from './entry.ts';
import type { PolicyFault } from './policy-error.ts';
import {
  haveCommonPath,
  nameOf,
  oddPath,
  partsOf,
  plainPattern,
  plainSegments,
  rankOf,
  requestFlaw,
  requestPattern,
  type RequestPattern,
  segmentsOf,
} from './request-pattern.ts';

/** A node in the tree of the segments of paths: what the paths that end there, or go on in any way, are decided by. */
interface Node {
  readonly children: Map<string, Node>;
  /** After `*`. */
  anyChild?: Node;
  readonly ends: Candidate[];
  readonly rests: Candidate[];
}

interface Candidate extends RequestPattern {
  readonly entry: Entry;
  /** Names what it covers as a lenient server reads it. */
  readonly plain: string;
}

/** Finds the entry that decides a request, among patterns that are a tree. */
class RequestTree {
  readonly #root: Node = newNode();
  #depth = 0;

  add(candidate: Candidate): void {
    const { segments, hasRest } = candidate;
    this.#depth = Math.max(this.#depth, segments.length);
    let node = this.#root;
    for (const segment of segments) node = childOf(node, segment);
    (hasRest ? node.rests : node.ends).push(candidate);
  }

  find(method: string, path: string): Candidate | undefined {
    // One more than any pattern has tells that the path goes on.
    return this.among(method, segmentsOf(path, this.#depth + 1));
  }

  among(method: string, segments: readonly string[]): Candidate | undefined {
    let nodes: readonly Node[] = [this.#root];
    let found: Candidate | undefined;
    for (const segment of segments) {
      for (const { rests } of nodes) found = preferred(found, rests, method);
      nodes = nodes.flatMap(({ children, anyChild }) => {
        const child = children.get(segment);
        if (segment === '' || anyChild === undefined) return child ?? [];
        return child === undefined ? anyChild : [child, anyChild];
      });
      if (nodes.length === 0) return found;
    }
    for (const { ends, rests } of nodes) found = preferred(preferred(found, rests, method), ends, method);
    return found;
  }
}

function newNode(): Node {
  return { children: new Map(), ends: [], rests: [] };
}

function childOf(node: Node, segment: string | undefined): Node {
  if (segment === undefined) return (node.anyChild ??= newNode());
  const child = node.children.get(segment) ?? newNode();
  node.children.set(segment, child);
  return child;
}

function preferred(
  found: Candidate | undefined,
  candidates: readonly Candidate[],
  method: string,
): Candidate | undefined {
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

/**
 * Compiles the entries of `requests`. An exact path precedes a pattern, and a pattern with more literal characters one
 * with fewer; then a named method precedes `GET` for HEAD, and that `*`. Appends names with a flaw, and entries that
 * tie, to `faults`.
 *
 * A request that a pattern or `*` covers only in its own spelling is not listed, if another entry decides it for a
 * server that ignores case, percent-encoding, a trailing slash, or dots and spaces at the end of a segment.
 */
export function requestTable(entries: readonly Entry[], faults: PolicyFault[]): FindEntry {
  const flaws = entries.map(({ key, name }) => ({ path: [key, name], flaw: requestFlaw(name, 'patterns') }));
  for (const { path, flaw } of flaws) if (flaw !== undefined) faults.push({ path, message: flaw });
  const candidates = entries
    .filter((_, index) => flaws[index]?.flaw === undefined)
    .map(candidateOf)
    // So that the order of the file never matters.
    .toSorted((one, other) => (one.entry.name < other.entry.name ? -1 : 1));
  for (const [index, candidate] of candidates.entries()) checkTie(candidate, candidates.slice(0, index), faults);

  const written = new RequestTree();
  const plain = new RequestTree();
  for (const candidate of candidates) {
    written.add(candidate);
    plain.add({ ...candidate, ...plainPattern(candidate) });
  }
  const areAllPlain = candidates.every((candidate) => nameOf(candidate) === candidate.plain);
  const isMistakable = (found: Candidate, method: string, path: string): boolean => {
    if (areAllPlain && !oddPath.test(path)) return false;
    const segments = plainSegments(path);
    if (plain.among(method, segments)?.plain !== found.plain) return true;
    // A proxy that decodes the path and writes it into another URL ends it there.
    const end = segments.findIndex((segment) => /[?#]/.test(segment));
    if (end < 0) return false;
    const cut = plain.among(method, [...segments.slice(0, end), segments[end]?.replace(/[?#].*/s, '') ?? '']);
    return cut !== undefined && cut.plain !== found.plain;
  };
  return (name) => {
    const [method, path] = partsOf(name);
    const found = written.find(method, path);
    // Nothing is stricter than an exact path with the method itself.
    if (found === undefined || (found.literals === Number.POSITIVE_INFINITY && found.method === method)) {
      return found?.entry;
    }
    return isMistakable(found, method, path) ? undefined : found.entry;
  };
}

function candidateOf(entry: Entry): Candidate {
  const pattern = requestPattern(entry.name);
  return { ...pattern, entry, plain: nameOf(plainPattern(pattern)) };
}

function checkTie(candidate: Candidate, others: readonly Candidate[], faults: PolicyFault[]): void {
  const { entry, method, literals } = candidate;
  const twin = others.find(
    (other) => other.method === method && other.literals === literals && haveCommonPath(other, candidate),
  );
  if (twin === undefined) return;
  const other = JSON.stringify(twin.entry.name);
  const message = `decides some of the same requests as ${other}, and neither is more specific`;
  faults.push({ path: [entry.key, entry.name], message });
}
