import { withoutInvisible } from '../look-alike.ts';

/**
 * RFC 3986 §3.3 `pchar` and `/`, without `;`: servlet containers cut `/admin;x` to `/admin` after the gateway matched
 * it.
 */
const pathCharacters = /^\/[A-Za-z0-9\-._~!$&'()*+,=:@/%]*$/;
/** A backslash, from its fullwidth form, is a separator to Windows, which drops spaces; a plus may be a space. */
const dotSegment = /[/\\][\s+]*\.{1,2}[\s+]*(?:[/\\]|$)/;
const unreserved = /[A-Za-z0-9\-._~]/;

/**
 * What keeps a path from being canonical, in words: dot segments, empty segments, backslashes, `;`, percent-encoding of
 * characters that need none, of `/`, `\` and controls, and broken UTF-8. Undefined for a path that every server reads
 * alike. Allocates nothing for a path without percent-encoding.
 *
 * @param slashes `pass`: an encoded slash is no flaw. Decoded, the path must have no other one in any case.
 */
export function pathFlaw(path: string, slashes?: 'pass'): string | undefined {
  if (!pathCharacters.test(path)) return 'a character that a path cannot have';
  return segmentFlaw(path) ?? (path.includes('%') ? encodingFlaw(path, slashes) : undefined);
}

function segmentFlaw(path: string): string | undefined {
  if (path.includes('//')) return 'an empty segment';
  return path.includes('.') && dotSegment.test(path) ? 'a dot segment' : undefined;
}

function encodingFlaw(path: string, slashes: 'pass' | undefined): string | undefined {
  const text = percentDecoded(path);
  if (text === undefined) return 'percent-encoding that is broken, or not UTF-8';
  for (const [encoded] of path.matchAll(/%../g)) {
    const byte = Number.parseInt(encoded.slice(1), 16);
    const character = String.fromCharCode(byte);
    if (unreserved.test(character)) return 'percent-encoding of a character that needs none';
    if (character === '/' && slashes === 'pass') continue;
    if (byte < 0x20 || byte === 0x7f || '/\\;%'.includes(character)) {
      return `percent-encoding of a delimiter or control, ${encoded}`;
    }
  }
  return segmentFlaw(withoutInvisible(text));
}

/** An encoded slash, in its one spelling (RFC 3986 §6.2.2.1). */
export const ENCODED_SLASH = '%2F';

/** A path in which every encoded slash has the spelling {@link ENCODED_SLASH}. */
export function withOneSlash(path: string): string {
  return path.replaceAll('%2f', ENCODED_SLASH);
}

/** A text with its percent-encoding decoded; undefined if that is broken, or not UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether a path is `folder` or below it: `/admin` covers `/admin/x`, and never `/administration`. */
export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
