import type { OwnPath } from '../../capabilities/capability.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import { quoted } from '../../core/lib/wording.ts';
import type { Route } from '../../core/model/route.ts';

/** Reports each own path that leads to something else as well. Paths that differ only in case count as one. */
export function requireOwnPaths(routes: readonly Route[], own: readonly OwnPath[]): void {
  const taken = routes.map(({ name, path }) => ({ path, isApart: false, owner: `route ${name}` }));
  for (const one of own) {
    const other = taken.find((each) => areOne(one, each)) ?? taken.find((each) => lieTogether(one, each));
    if (other !== undefined) {
      // A placeholder is shown as the file has it.
      const shown = one.at.present ? one.at.quoted() : quoted(one.path);
      one.at.addProblem(
        areOne(one, other)
          ? `${shown} is also the path of ${other.owner}`
          : `${shown} and the path of ${other.owner} lie below each other`,
      );
    }
    taken.push(one);
  }
}

type Taken = Pick<OwnPath, 'path' | 'isApart'>;

function areOne(one: Taken, other: Taken): boolean {
  return one.path.toLowerCase() === other.path.toLowerCase();
}

function lieTogether(one: Taken, other: Taken): boolean {
  const [path, folder] = [one.path.toLowerCase(), other.path.toLowerCase()];
  // The path of a route that has a problem is empty.
  if ((!one.isApart && !other.isApart) || path.length < 2 || folder.length < 2) return false;
  return isAtOrBelow(path, folder) || isAtOrBelow(folder, path);
}
