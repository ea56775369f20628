import { percentDecoded } from '../core/lib/http/path-flaw.ts';
import { compatible } from '../core/lib/look-alike.ts';

/**
 * Compiles a pattern of URLs, as `front_door` has them for redirect URIs and metadata documents: `:*` is any port or
 * none, `*` is a part of a path segment, and a final `**` is any rest.
 *
 * Only a URL in its canonical form matches: dot segments, encoded ones too, user names, backslashes and spaces would
 * make two readers see two URLs (RFC 9700 §4.1).
 */
function urlPattern(pattern: string): (url: string) => boolean {
  const matcher = new RegExp(
    `^${pattern
      .split(/(:\*(?=\/|$)|\*\*$|\*)/)
      .map(source)
      .join('')}$`,
  );
  return (url) => isCanonical(url) && matcher.test(url) && isPlainPath(url.split('?', 1)[0] ?? '');
}

/** The longest URL of a client that anything here reads. Browsers and proxies refuse longer ones too. */
export const MAX_URL_LENGTH = 2_048;

/** Characters that end a segment for some server, or make it a dot segment. */
const separators = /[./\\;?#]/g;

/**
 * Whether a path names the same folders for a server that decodes it before it looks at them, more than once or to
 * compatible characters too: `/cb/..%2fadmin` leaves the folder that the pattern names. An encoded percent sign is
 * refused: to decode one level after the other would take quadratic time.
 */
function isPlainPath(path: string): boolean {
  const count = (text: string): number => text.match(separators)?.length ?? 0;
  const text = percentDecoded(path);
  // Overlong UTF-8 (`%c0%ae`), `%u002e`, or a percent sign.
  if (text === undefined || text.includes('%')) return false;
  const hasParameter = /(?:^|\/)\.{1,2};/.test(path);
  return count(compatible(text)) === count(path) && !hasParameter && !/\p{Cc}/u.test(text);
}

/** Whether any of `patterns` matches. A URL over {@link MAX_URL_LENGTH} matches none, and nothing reads it. */
export function anyPattern(patterns: readonly string[]): (url: string) => boolean {
  const matchers = patterns.map(urlPattern);
  return (url) => url.length <= MAX_URL_LENGTH && matchers.some((matches) => matches(url));
}

function source(part: string): string {
  if (part === ':*') return '(?::[0-9]{1,5})?';
  if (part === '**') return '[^#]*';
  return part === '*' ? '[^/?#]*' : part.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}

function isCanonical(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) return false;
  // The parser adds the slash of an empty path.
  return url.href === text || url.href === `${text}/`;
}
