import { withoutInvisible } from '../lib/look-alike.ts';
import { foldedPath } from './target.ts';

/** A segment of mounted paths. */
interface Node {
  readonly children: Map<string, Node>;
}

/**
 * What a segment has that some servers drop: a dot, a space (which some write as a plus), what is not ASCII; and `?` or `#`
 * with all that follows, where a proxy decodes the path and writes it into another URL.
 */
const droppable = /[.+?#]|[^!-~]/;
/** Where a name may end for such servers: at trailing dots and spaces, and at each extension. */
const nameEnd = /(?<![\s.+])[\s+]*(?:[.?#]|$)/gu;

/**
 * Creates the look-up that finds out how many segments of a path meet a mounted path once what some servers drop is taken
 * off each segment: invisible characters, spaces around it, dots behind it, extensions (`admin.json`, `admin.tar.gz`), and
 * what follows an encoded `?` or `#`. A segment that is mounted as it stands is taken as it stands.
 *
 * @returns a function of a folded path, which gives 0 where it meets nothing but the root.
 */
export function createLookAlikes(mounts: Iterable<string>): (folded: string) => number {
  const root: Node = { children: new Map() };
  const mounted = new Set<Node>();
  let depth = 0;
  let longest = 0;
  for (const mount of mounts) {
    // Every path meets the root.
    if (mount === '/') continue;
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
    let met = 0;
    for (const [index, segment] of segmentsOf(folded, depth).entries()) {
      nodes = nodes.flatMap((node) => childrenOf(node, segment, longest));
      if (nodes.some((node) => mounted.has(node))) met = index + 1;
    }
    return met;
  };
}

function segmentsOf(path: string, most = path.length): readonly string[] {
  return path.split('/', most + 1).slice(1);
}

function childrenOf({ children }: Node, segment: string, longest: number): readonly Node[] {
  const own = children.get(segment);
  if (own !== undefined) return [own];
  const visible = withoutInvisible(segment).trimStart();
  const found: Node[] = [];
  for (const { index } of visible.matchAll(nameEnd)) {
    if (index > longest) break;
    const child = children.get(visible.slice(0, index));
    if (child !== undefined) found.push(child);
  }
  return found;
}
