import { percentDecoded } from '../lib/http/path-flaw.ts';
import { withoutInvisible } from '../lib/look-alike.ts';
import { MAX_URI_LENGTH } from '../model/mcp.ts';
import type { Entry, FindEntry } from './entry.ts';
import { mistakableNames, patternTable, uriPattern, variablesIn, withoutVariables } from './pattern.ts';
import type { PolicyFault } from './document.ts';

/** The two lookups of `resources`. */
export interface ResourceTables {
  readonly resource: FindEntry;
  /** By RFC 6570 template, exactly as listed or by a pattern that covers whatever it may expand to. */
  readonly template: FindEntry;
}

/**
 * Compiles the entries of `resources`. A pattern covers a URI only in canonical spelling. The same entry must also
 * decide the URI as lenient servers read it (`plainUri`), and the URI without its query and fragment.
 */
export function resourceTables(entries: readonly Entry[], faults: PolicyFault[]): ResourceTables {
  const { exact, matching } = patternTable(entries, uriPattern, faults);
  for (const entry of entries) {
    checkReachable(entry, faults);
    checkVariables(entry, faults);
  }
  // RFC 3986 §6.2.2.1: a server may take `stock://AAPL` and `stock://aapl` for one, and a file system `/Plan` and
  // `/plan`.
  const isMistakable = mistakableNames(entries, uriPattern, plainUri);
  // A server that reads files drops query and fragment, as `fileURLToPath` does. A pattern with either is deliberate.
  const dropsIntoAnother = (uri: string, found: Entry): boolean => {
    const bare = uri.replace(/[?#].*/s, '');
    if (bare === uri || /[?#]/.test(found.name)) return false;
    const other = exact(bare) ?? matching(bare);
    return other !== undefined && (other.rule !== found.rule || isMistakable(bare, found));
  };
  const covering = (uri: string): Entry | undefined => {
    const found = matching(uri);
    if (found === undefined || hidesDots(uri) || isMistakable(uri, found) || dropsIntoAnother(uri, found))
      return undefined;
    return found;
  };
  return {
    resource: (uri) => exact(uri) ?? (uriFlaw(uri) === undefined ? covering(uri) : undefined),
    template(template) {
      const found = exact(template);
      if (found !== undefined) return found;
      const shape = template.replaceAll(expression, (_, operator) => (operator === '' ? '{}' : '{}/{}'));
      return uriFlaw(shape.replaceAll('{}', 'x')) === undefined ? covering(shape) : undefined;
    },
  };
}

/**
 * RFC 6570 §2.2. Without an operator an expression expands within a segment, because `/`, `?` and `#` are encoded
 * (RFC 6570 §3.2.2); with one it may go on beyond it, so that only `**` covers it.
 */
const expression = /\{([+#./;?&=,!@|]?)[^{}]*\}/g;

/** Reports a pattern that can never match, which is a mistake. */
function checkReachable({ key, name }: Entry, faults: PolicyFault[]): void {
  const pattern = withoutVariables(name);
  // If a wildcard may stand for the scheme too, the URIs are unknown.
  if (!/^[^*:]+:.*\*/.test(pattern)) return;
  const flaw = uriFlaw(pattern.replaceAll('*', 'x'));
  if (flaw === undefined) return;
  faults.push({ path: [key, name], message: `matches nothing: ${flaw}; only exact entries cover such a URI` });
}

/** Reports variables of which a URI does not say where they end, and those that have one name. */
function checkVariables({ key, name }: Entry, faults: PolicyFault[]): void {
  const variables = variablesIn(name);
  const twice = variables.find((each, index) => variables.indexOf(each) < index);
  if (twice !== undefined) faults.push({ path: [key, name], message: `has the variable {${twice}} twice` });
  const shape = variables.reduce((rest, each) => rest.replace(`{${each}}`, '\0'), name);
  if (!/\0[\0*]|\*\0/.test(shape)) return;
  const message = 'has a variable beside another wildcard; write a character between them that says where it ends';
  faults.push({ path: [key, name], message });
}

/**
 * Spellings of a URI that some servers read as another URI. Otherwise a caller could write `..` in a way that only the
 * server understands, and leave the folder that a pattern covers.
 */
const flaws: readonly (readonly [what: string, sign: RegExp])[] = [
  ['a scheme in lower case is missing', /^(?![a-z][a-z0-9+.-]*:)/],
  // RFC 3986 §2: backslashes, spaces, control characters, braces and everything that is not ASCII.
  ['a character that URIs do not have', /[^A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]/],
  // RFC 3986 §6.2.2.1: `%2f` means what `%2F` means.
  ['a % without two digits in upper case', /%(?![0-9A-F]{2})/],
  // RFC 3986 §6.2.2.2, and what decoders make of the rest: `/`, `\`, `%` (decoded twice), control characters, overlong
  // UTF-8.
  [
    'an encoded character that must be plain or absent',
    /%(?:[01].|2[5DEF]|3[0-9]|4[1-9A-F]|5[0-9ACF]|6[1-9A-F]|7[0-9AEF]|C[01]|E0%[89]|F0%8)/,
  ],
  // RFC 3986 §6.2.2.3; after `=`, `&` and `;` because servers read paths in queries, and drop what follows a `;`.
  ['a dot segment', /[/:?#=&;]\.\.?(?:$|[/?#&;])/],
  ['an empty segment', /^[^:]*:(?:\/\/[^/?#]*(?=[/?#])|(?!\/\/))[^?#]*\/\//],
  // RFC 3986 §3.2, narrowed: parsers disagree on what else may stand before a host, and §6.2.3 leaves out what is
  // empty.
  [
    'an authority in another form than user@host:port',
    /^[^:]*:\/\/(?!(?:[A-Za-z0-9._~-]+@)?(?:\[[0-9a-f:.]+\]|[^[\]@:/?#]*)(?::[1-9][0-9]*)?(?:[/?#]|$))/,
  ],
  // RFC 3986 §6.2.2.1, §6.2.3. Where the authority is a host on the network: other schemes put names of their own
  // there.
  [
    'a host in upper case, with a final dot or with a default port',
    /^(?:https?|wss?|ftp|file):\/\/(?:[^/?#]*(?:[A-Z]|\.(?=[/?#:]|$)|:(?:80|443)(?=[/?#]|$))|localhost\/)/,
  ],
];

/** The reason why a URI is ambiguous; undefined if it is in canonical form. Allocates nothing. */
export function uriFlaw(uri: string): string | undefined {
  if (uri.length > MAX_URI_LENGTH) return 'excessive length';
  for (const [what, sign] of flaws) if (sign.test(uri)) return what;
  return undefined;
}

/** Percent-encoded spaces and characters beyond ASCII: no delimiter of a URI is among them. */
const encodedText = /(?:%20|%[89A-F][0-9A-F])+/g;
/**
 * Dots and spaces at the end of a segment and a stream of NTFS, `x::$DATA`, which Windows drops, and spaces at its
 * beginning, which readers trim.
 */
const segmentEnds = /(?<![\s.])[\s.]+(?=[/?#]|$)|:{1,2}\$[^/?#]*|(?<=\/)\s+/gu;

/** A dot segment for servers that drop invisible characters, or spaces around a segment. */
const hiddenDots = /[/:?#=&;]\s*\.\.?\s*(?:$|[/?#&;])/u;

/** Whether a canonical URI has a dot segment once its encoded spaces and invisible characters are gone. */
function hidesDots(uri: string): boolean {
  return uri.includes('%') && hiddenDots.test(visible(uri));
}

function visible(uri: string): string {
  return withoutInvisible(uri.replaceAll(encodedText, (text) => percentDecoded(text) ?? text));
}

/** A canonical URI as a lenient server sees it: without regard to case, invisible characters and ends of segments. */
export function plainUri(uri: string): string {
  return visible(uri).replaceAll(segmentEnds, '');
}
