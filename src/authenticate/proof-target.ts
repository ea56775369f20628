/** Whether the `htu` of a proof names the path that is called. */
export type IsTarget = (htu: string, path: string) => boolean;

/** RFC 3986 §2: what a URI may have. `new URL` would take a backslash for a slash and leave out a tab. */
const uriCharacters = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/;
const unreserved = /[\w\-.~]/;

/**
 * Creates the comparison of `htu` with the URI of a request, RFC 9449 §4.3: without query and fragment, after
 * normalization by syntax and scheme (RFC 3986 §6.2.2, §6.2.3). The request's is made of `publicUrl`, an origin, and never of
 * what a client says in Host: whoever took a proof on a host of their own could use it here.
 */
export function createIsTarget(publicUrl: string): IsTarget {
  return (htu, path) => {
    const expected = publicUrl + path;
    if (htu === expected) return true;
    const normal = normalized(htu);
    return normal !== undefined && normal === normalized(expected);
  };
}

function normalized(uri: string): string | undefined {
  if (!uriCharacters.test(uri)) return undefined;
  const bare = uri.replace(/[?#].*/, '');
  if (!/^https?:\/\/[^/]/i.test(bare)) return undefined;
  // RFC 3986 §6.2.2.2: before dot segments are removed.
  const url = URL.parse(bare.replaceAll(/%[0-9A-Fa-f]{2}/g, plainOctet));
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.origin + url.pathname;
}

/** RFC 3986 §6.2.2.1, §6.2.2.2: an octet that needs no encoding as itself, another one in capitals. */
function plainOctet(octet: string): string {
  const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
  return unreserved.test(character) ? character : octet.toUpperCase();
}
