import { folded } from '../../lib/look-alike.ts';
import { Denial } from '../../model/denial.ts';
import { droppable, segmentReadings } from '../../lib/http/lenient-path.ts';
import { ENCODED_SLASH, pathFlaw, withOneSlash } from '../../lib/http/path-flaw.ts';

/** Finds what is mounted at a path. Whole segments match, and the longest mount wins. */
export type Router<Mounted> = (path: string) => Mounted;

/**
 * Creates a router over `mounts` (canonical path → what is mounted there). The cost of a look-up grows with the depth
 * of the deepest mount, not with the number of mounts or the length of the path.
 *
 * @returns a function that throws {Denial} `route.unknown` if nothing is mounted. It throws `request.path` if the path
 *   matches another mount once case and encoding are ignored, or a narrower one without what some servers drop: neither
 *   `/Admin` nor `/admin.json` must evade the policy of `/admin`. It throws `request.path` for an encoded slash, too.
 * @param takesSlashes Whether what is mounted takes an encoded slash as a character. The path must then lead there with
 *   the slash decoded and as it is. Default: nothing does.
 */
export function createRouter<Mounted>(
  mounts: ReadonlyMap<string, Mounted>,
  takesSlashes: (mounted: Mounted) => boolean = () => false,
): Router<Mounted> {
  const mountings = new Map([...mounts].map(([path, mounted]) => [path, { mounted, segments: segmentCount(path) }]));
  const folded = new Map([...mountings].map(([path, mounting]) => [foldedPath(path), mounting]));
  // If `/Admin` is mounted, `/admin` folds to itself and still must not reach it.
  const allFolded = [...mounts.keys()].every((path) => folded.has(path));
  const depth = Math.max(0, ...[...mounts.keys()].map(segmentCount));
  const lookAlikeSegments = createLookAlikes(mounts.keys());
  return (path) => {
    const found = longest(mountings, path, depth);
    if (path.includes(ENCODED_SLASH) && (found === undefined || !takesSlashes(found.mounted))) {
      throw new Denial(
        'request.path',
        `percent-encoding of a delimiter, ${ENCODED_SLASH}: ` +
          'set encoded_slashes: pass on the http route of an upstream that reads it as a character',
      );
    }
    const fold = foldedPath(path);
    if ((fold !== path || !allFolded) && longest(folded, fold, depth) !== found) {
      throw new Denial(
        'request.path',
        'reads as the path of another route once case and encoding are ignored: send the plain path',
      );
    }
    if (lookAlikeSegments(fold) > (found?.segments ?? 0)) {
      throw new Denial(
        'request.path',
        'reads as the path of a route once extensions, and dots, spaces and invisible characters at the end of a ' +
          'segment, are ignored: send the plain path, or add a route for this one',
      );
    }
    if (found === undefined) throw new Denial('route.unknown', 'no route for this path');
    return found.mounted;
  };
}

function segmentCount(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}

function longest<Mounting>(mounts: ReadonlyMap<string, Mounting>, path: string, depth: number): Mounting | undefined {
  let end = endOfSegment(path, depth);
  while (end > 0) {
    const found = mounts.get(path.slice(0, end));
    if (found !== undefined) return found;
    end = path.lastIndexOf('/', end - 1);
  }
  return mounts.get('/');
}

function endOfSegment(path: string, count: number): number {
  let end = 0;
  for (let segment = 0; segment < count; segment += 1) {
    const next = path.indexOf('/', end + 1);
    if (next === -1) return path.length;
    end = next;
  }
  return end;
}

interface Node {
  readonly children: Map<string, Node>;
}

/**
 * Creates the look-up of how many segments of a path match a mounted path without what some servers drop: invisible
 * characters, spaces around a segment, dots after it, extensions (`admin.json`, `admin.tar.gz`), streams of NTFS, and
 * the rest after an encoded `?` or `#`. A segment that is itself mounted stays whole.
 *
 * @returns a function of a folded path; 0 if it matches nothing but the root.
 */
function createLookAlikes(mounts: Iterable<string>): (folded: string) => number {
  const root: Node = { children: new Map() };
  const mounted = new Set<Node>();
  let depth = 0;
  let longest = 0;
  for (const mount of mounts) {
    const segments = segmentsOf(foldedPath(mount));
    depth = Math.max(depth, segments.length);
    let node = root;
    for (const segment of segments) {
      longest = Math.max(longest, segment.length);
      const child = node.children.get(segment) ?? { children: new Map() };
      node.children.set(segment, child);
      node = child;
    }
    mounted.add(node);
  }
  return (folded) => {
    if (!droppable.test(folded)) return 0;
    let nodes: readonly Node[] = [root];
    let matched = 0;
    for (const [index, segment] of segmentsOf(folded, depth).entries()) {
      nodes = nodes.flatMap((node) => childrenOf(node, segment, longest));
      if (nodes.some((node) => mounted.has(node))) matched = index + 1;
    }
    return matched;
  };
}

function segmentsOf(path: string, limit = path.length): readonly string[] {
  return path.split('/', limit + 1).slice(1);
}

function childrenOf({ children }: Node, segment: string, longest: number): readonly Node[] {
  const own = children.get(segment);
  if (own !== undefined) return [own];
  return segmentReadings(segment, longest).flatMap((reading) => children.get(reading) ?? []);
}

/** A request target in origin form, split, in its only accepted spelling. */
export interface Target {
  readonly path: string;
  /** `''`, or `?` and the rest. */
  readonly query: string;
}

/** Printable ASCII without `#`: some servers would end the query there. */
const queryCharacters = /^\?[!"$-~]*$/;

/**
 * The path and query of a request target, RFC 9112 §3.2.1, exactly as received, but for `%2f`, which becomes `%2F`.
 * Each path has one accepted spelling, so that the gateway matches the path that every upstream understands. Whether a
 * route takes an encoded slash is for {@link createRouter} to say.
 *
 * @throws {Denial} `request.target` for other forms, `request.path` for a path that {@link pathFlaw} finds a flaw in.
 */
export function canonicalTarget(target: string): Target {
  if (!target.startsWith('/')) throw new Denial('request.target', 'not in origin form');
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark);
  const flaw = pathFlaw(path, 'pass');
  if (flaw !== undefined) throw new Denial('request.path', flaw);
  if (query !== '' && !queryCharacters.test(query))
    throw new Denial('request.target', 'a character that a query cannot have');
  return { path: withOneSlash(path), query };
}

/**
 * The path for a reader that ignores case and decodes first. To a lenient upstream, two routes that fold to one path
 * are the same (Express ignores case).
 */
export function foldedPath(path: string): string {
  const lower = path.toLowerCase();
  if (!lower.includes('%')) return lower;
  return folded(decodeURIComponent(path));
}
