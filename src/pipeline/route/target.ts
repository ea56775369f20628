import { folded } from '../../lib/look-alike.ts';
import { pathFlaw } from '../../lib/http/path-flaw.ts';
import { Denial } from '../../model/denial.ts';

/** A request target in origin form, split, in its only accepted spelling. */
export interface Target {
  readonly path: string;
  /** `''`, or `?` and the rest. */
  readonly query: string;
}

/** Printable ASCII without `#`: some servers would end the query there. */
const queryCharacters = /^\?[!"$-~]*$/;

/**
 * The path and query of a request target, RFC 9112 §3.2.1, exactly as received. Each path has one accepted spelling, so
 * that the gateway matches the path that every upstream understands.
 *
 * @throws {Denial} `request.target` for other forms, `request.path` for a path that {@link pathFlaw} finds a flaw in.
 */
export function canonicalTarget(target: string): Target {
  if (!target.startsWith('/')) throw new Denial('request.target', 'not in origin form');
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark);
  const flaw = pathFlaw(path);
  if (flaw !== undefined) throw new Denial('request.path', flaw);
  if (query !== '' && !queryCharacters.test(query))
    throw new Denial('request.target', 'a character that a query cannot have');
  return { path, query };
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
