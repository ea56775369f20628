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
  return (url) => isCanonical(url) && !encodedSeparator.test(url) && matcher.test(url);
}

/**
 * An encoded dot, slash or backslash, encoded more than once too. A server that decodes it before it looks at the path
 * leaves the folder that the pattern names: `/cb/..%2fadmin`.
 */
const encodedSeparator = /^[^?]*%(?:25)*(?:2e|2f|5c)/i;

/** Whether any of `patterns` matches. */
export function anyPattern(patterns: readonly string[]): (url: string) => boolean {
  const matchers = patterns.map(urlPattern);
  return (url) => matchers.some((matches) => matches(url));
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
