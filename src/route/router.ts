import { Denial } from '../model/denial.ts';
import { foldedPath } from './target.ts';

/** Finds what is mounted at a path: whole segments, the longest wins. */
export type Router<Mounted> = (path: string) => Mounted;

/**
 * Creates a router over `mounts` (canonical path → what is mounted there). A look-up costs the depth of the deepest
 * mount, whatever the number of mounts and the length of the path.
 *
 * @returns a function that throws {Denial} `route.unknown` where nothing is mounted, and `request.path` where the path
 *   meets another mount once case and encoding are ignored: `/Admin` must not slip past the policy of `/admin`.
 */
export function createRouter<Mounted>(mounts: ReadonlyMap<string, Mounted>): Router<Mounted> {
  const folded = new Map([...mounts].map(([path, mounted]) => [foldedPath(path), mounted]));
  // With `/Admin` mounted, `/admin` is as foreign to it as `/Admin` is to `/admin`, and folds to itself.
  const allFolded = [...mounts.keys()].every((path) => folded.has(path));
  const depth = Math.max(0, ...[...mounts.keys()].map((path) => path.split('/').length - 1));
  return (path) => {
    const mounted = longest(mounts, path, depth);
    const fold = foldedPath(path);
    if ((fold !== path || !allFolded) && longest(folded, fold, depth) !== mounted) {
      throw new Denial('request.path', 'meets another route when case and encoding are ignored');
    }
    if (mounted === undefined) throw new Denial('route.unknown', 'no route for this path');
    return mounted;
  };
}

function longest<Mounted>(mounts: ReadonlyMap<string, Mounted>, path: string, depth: number): Mounted | undefined {
  let end = endOfSegment(path, depth);
  while (end > 0) {
    const mounted = mounts.get(path.slice(0, end));
    if (mounted !== undefined) return mounted;
    end = path.lastIndexOf('/', end - 1);
  }
  return mounts.get('/');
}

/** Where the first `count` segments of `path` end. */
function endOfSegment(path: string, count: number): number {
  let end = 0;
  for (let segment = 0; segment < count; segment += 1) {
    const next = path.indexOf('/', end + 1);
    if (next === -1) return path.length;
    end = next;
  }
  return end;
}
