import { folded } from '../../lib/folded.ts';
import { Denial } from '../../model/denial.ts';

/** A request target in origin form, split, in its only accepted spelling. */
export interface Target {
  readonly path: string;
  /** `''`, or `?` and the rest. */
  readonly query: string;
}

/**
 * RFC 3986 §3.3 `pchar` and `/`, without `;`: servlet containers cut `/admin;x` to `/admin` after the gateway matched
 * it.
 */
const pathCharacters = /^\/[A-Za-z0-9\-._~!$&'()*+,=:@/%]*$/;
/** Printable ASCII without `#`: some servers would end the query there. */
const queryCharacters = /^\?[!"$-~]*$/;
/** A backslash, from its fullwidth form, is a separator to Windows. */
const dotSegment = /[/\\]\.{1,2}(?:[/\\]|$)/;
const unreserved = /[A-Za-z0-9\-._~]/;

/**
 * The path and query of a request target, RFC 9112 §3.2.1, exactly as received. Each path has one accepted spelling, so
 * that the gateway matches the path that every upstream understands.
 *
 * @throws {Denial} `request.target` for other forms; `request.path` for dot segments, empty segments, backslashes,
 *   `;`, and percent-encoding of characters that need none, of `/`, `\` and controls, and of broken UTF-8.
 */
export function canonicalTarget(target: string): Target {
  if (!target.startsWith('/')) throw new Denial('request.target', 'not in origin form');
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark);
  if (!pathCharacters.test(path)) throw new Denial('request.path', 'a character that a path cannot have');
  if (query !== '' && !queryCharacters.test(query))
    throw new Denial('request.target', 'a character that a query cannot have');
  requirePlain(path);
  if (path.includes('%')) requirePlain(decoded(path));
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

function requirePlain(path: string): void {
  if (path.includes('//')) throw new Denial('request.path', 'an empty segment');
  if (path.includes('.') && dotSegment.test(path)) throw new Denial('request.path', 'a dot segment');
}

/** Decodes a path for the checks. The decoded form is never forwarded. */
function decoded(path: string): string {
  const text = decode(path);
  for (const [encoded] of path.matchAll(/%../g)) {
    const byte = Number.parseInt(encoded.slice(1), 16);
    const character = String.fromCharCode(byte);
    if (unreserved.test(character)) throw new Denial('request.path', 'percent-encoding of a character that needs none');
    if (byte < 0x20 || byte === 0x7f || '/\\;%'.includes(character)) {
      throw new Denial('request.path', `percent-encoding of a delimiter or control, ${encoded}`);
    }
  }
  return text.normalize('NFKC');
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new Denial('request.path', 'percent-encoding that is broken, or not UTF-8');
  }
}
