import { Denial } from '../model/denial.ts';
import { createLookAlikes } from './look-alikes.ts';
import { foldedPath } from './target.ts';

/** Finds what is mounted at a path: whole segments, the longest wins. */
export type Router<Mounted> = (path: string) => Mounted;

/**
 * Creates a router over `mounts` (canonical path → what is mounted there). A look-up costs the depth of the deepest
 * mount, whatever the number of mounts and the length of the path.
 *
 * @returns a function that throws {Denial} `route.unknown` where nothing is mounted, and `request.path` where the path
 *   meets another mount once case and encoding are ignored, or a narrower one once what some servers drop is taken off:
 *   neither `/Admin` nor `/admin.json` must slip past the policy of `/admin`.
 */
export function createRouter<Mounted>(mounts: ReadonlyMap<string, Mounted>): Router<Mounted> {
  const folded = new Map([...mounts.keys()].map((path) => [foldedPath(path), path]));
  // With `/Admin` mounted, `/admin` is as foreign to it as `/Admin` is to `/admin`, and folds to itself.
  const allFolded = [...mounts.keys()].every((path) => folded.has(path));
  const depths = new Map([...mounts.keys()].map((path) => [path, path === '/' ? 0 : path.split('/').length - 1]));
  const depth = Math.max(0, ...[...mounts.keys()].map((path) => path.split('/').length - 1));
  const segmentsMet = createLookAlikes(mounts.keys());
  return (path) => {
    const at = longest(mounts, path, depth);
    const fold = foldedPath(path);
    if ((fold !== path || !allFolded) && folded.get(longest(folded, fold, depth) ?? '') !== at) {
      throw new Denial(
        'request.path',
        'reads as the path of another route once case and encoding are ignored: send the plain path',
      );
    }
    if (segmentsMet(fold) > (depths.get(at ?? '/') ?? 0)) {
      throw new Denial(
        'request.path',
        'reads as the path of a route once extensions, and dots, spaces and invisible characters at the end of a segment, ' +
          'are ignored: send the plain path, or add a route for this one',
      );
    }
    const mounted = at === undefined ? undefined : mounts.get(at);
    if (mounted === undefined) throw new Denial('route.unknown', 'no route for this path');
    return mounted;
  };
}

/** The longest path of `mounts` that `path` begins with. */
function longest(mounts: ReadonlyMap<string, unknown>, path: string, depth: number): string | undefined {
  let end = endOfSegment(path, depth);
  while (end > 0) {
    const start = path.slice(0, end);
    if (mounts.has(start)) return start;
    end = path.lastIndexOf('/', end - 1);
  }
  return mounts.has('/') ? '/' : undefined;
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
