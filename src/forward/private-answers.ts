/**
 * What keeps answers of a route that needs a token out of shared caches. RFC 9111 §3.5 lets a shared cache keep the answer to
 * a request with `Authorization` where it says `public`, `s-maxage` or `must-revalidate`; nginx, among others, also keeps one
 * that says `max-age` or `Expires`. Either then serves it to callers without a token.
 *
 * @module
 */

/** Fields for shared caches alone, lower case, besides the targeted ones of RFC 9213, which end in `cache-control`. */
export const sharedCacheFields: readonly string[] = ['edge-control', 'surrogate-control', 'x-accel-expires'];

interface Directive {
  readonly name: string;
  /** With its argument, as it came. */
  readonly text: string;
}

/** RFC 9111 §5.2, with what follows it. */
const directive = /[\t ]*([^\s"(),/:;<=>?@[\\\]{}]+)([\t ]*=[\t ]*(?:"(?:[^"\\]|\\.)*"|[^\s",]*))?[\t ]*(?:,|$)/y;
const empty = /[\t ]*(?:,|$)/y;

/** No other directive makes a cache keep an answer; most answers have none of these. */
const invites = /public|age|revalidate|stale/i;

/** A `Cache-Control` value that lets no shared cache keep the answer: `private` in the place of `public` and `s-maxage`. */
export function privateCacheControl(value: string): string {
  if (!invites.test(value)) return value;
  const directives = directivesOf(value);
  // Two caches could read it differently.
  if (directives === undefined) return 'private, no-store';
  const kept = directives.filter(({ name }) => name !== 'public' && name !== 's-maxage');
  // With an argument, `private` is about some fields of the answer alone.
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
