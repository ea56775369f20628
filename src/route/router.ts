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
  const mountings = new Map([...mounts].map(([path, mounted]) => [path, { mounted, segments: segmentCount(path) }]));
  const folded = new Map([...mountings].map(([path, mounting]) => [foldedPath(path), mounting]));
  // With `/Admin` mounted, `/admin` is as foreign to it as `/Admin` is to `/admin`, and folds to itself.
  const allFolded = [...mounts.keys()].every((path) => folded.has(path));
  const depth = Math.max(0, ...[...mounts.keys()].map(segmentCount));
  const segmentsMet = createLookAlikes(mounts.keys());
  return (path) => {
    const found = longest(mountings, path, depth);
    const fold = foldedPath(path);
    if ((fold !== path || !allFolded) && longest(folded, fold, depth) !== found) {
      throw new Denial(
        'request.path',
        'reads as the path of another route once case and encoding are ignored: send the plain path',
      );
    }
    if (segmentsMet(fold) > (found?.segments ?? 0)) {
      throw new Denial(
        'request.path',
        'reads as the path of a route once extensions, and dots, spaces and invisible characters at the end of a segment, ' +
          'are ignored: send the plain path, or add a route for this one',
      );
    }
    if (found === undefined) throw new Denial('route.unknown', 'no route for this path');
    return found.mounted;
  };
}

function segmentCount(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}

/** What is mounted at the longest path of `mounts` that `path` begins with. */
function longest<Mounting>(mounts: ReadonlyMap<string, Mounting>, path: string, depth: number): Mounting | undefined {
  let end = endOfSegment(path, depth);
  while (end > 0) {
    const found = mounts.get(path.slice(0, end));
    if (found !== undefined) return found;
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
