/**
 * Keeps the answers of routes that need a token out of shared caches. RFC 9111 §3.5 lets a shared cache store the
 * answer to a request with `Authorization` if it says `public`, `s-maxage` or `must-revalidate`. Others, such as nginx,
 * also store one with `max-age` or `Expires`. Such a cache would serve the answer to callers without a token.
 *
 * @module
 */

/** Fields for shared caches only, in lower case. Those of RFC 9213 end in `cache-control` and are not listed. */
export const sharedCacheFields: readonly string[] = ['edge-control', 'surrogate-control', 'x-accel-expires'];

interface Directive {
  readonly name: string;
  /** With its argument, as received. */
  readonly text: string;
}

/** RFC 9111 §5.2, up to the next directive. */
const directive = /[\t ]*([^\s"(),/:;<=>?@[\\\]{}]+)([\t ]*=[\t ]*(?:"(?:[^"\\]|\\.)*"|[^\s",]*))?[\t ]*(?:,|$)/y;
const empty = /[\t ]*(?:,|$)/y;

/** The directives that make a cache store an answer all contain one of these; most answers have none. */
const invites = /public|age|revalidate|stale/i;

/**
 * Replaces `public` and `s-maxage` in a `Cache-Control` value with `private`, so that no shared cache stores the
 * answer.
 */
export function privateCacheControl(value: string): string {
  if (!invites.test(value)) return value;
  const directives = directivesOf(value);
  // Two caches could read a malformed value differently.
  if (directives === undefined) return 'private, no-store';
  const kept = directives.filter(({ name }) => name !== 'public' && name !== 's-maxage');
  // `private` with an argument applies only to some fields of the answer.
  const isPrivate = kept.some(({ name, text }) => name === 'no-store' || (name === 'private' && !text.includes('=')));
  if (isPrivate && kept.length === directives.length) return value;
  const others = kept.filter(({ name }) => name !== 'private').map(({ text }) => text);
  return ['private', ...others].join(', ');
}

function directivesOf(value: string): readonly Directive[] | undefined {
  const found: Directive[] = [];
  for (let at = 0; at < value.length;) {
    empty.lastIndex = at;
    directive.lastIndex = at;
    const match = empty.test(value) ? undefined : directive.exec(value);
    if (match === null) return undefined;
    if (match !== undefined)
      found.push({ name: (match[1] as string).toLowerCase(), text: `${match[1]}${match[2] ?? ''}` });
    at = match === undefined ? empty.lastIndex : directive.lastIndex;
  }
  return found;
}
