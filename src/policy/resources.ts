import { plainUri, uriFlaw } from './canonical-uri.ts';
import type { Entry, FindEntry } from './entry.ts';
import { mistakableNames } from './look-alikes.ts';
import { patternTable } from './pattern-table.ts';
import type { PolicyFault } from './policy-error.ts';
import { uriPattern } from './uri-pattern.ts';

/** The two ways to ask `resources`. */
export interface ResourceTables {
  readonly resource: FindEntry;
  /** By RFC 6570 template, exactly as listed or by a pattern that covers whatever it may expand to. */
  readonly template: FindEntry;
}

/**
 * Compiles the entries of `resources`. A URI that is not listed exactly as it is must be in its canonical spelling for a
 * pattern to be tried. Its plain spelling must be decided by the same entry, and so must what is left without its query.
 */
export function resourceTables(entries: readonly Entry[], faults: PolicyFault[]): ResourceTables {
  const { exact, matching } = patternTable(entries, uriPattern, faults);
  for (const entry of entries) checkReachable(entry, faults);
  // RFC 3986 §6.2.2.1: a server may take `stock://AAPL` and `stock://aapl` for one, and a file system `/Plan` and `/plan`.
  const isMistakable = mistakableNames(entries, uriPattern, plainUri);
  // A server that reads files drops query and fragment, `fileURLToPath` for one. A pattern that names either is meant so.
  const dropsIntoAnother = (uri: string, found: Entry): boolean => {
    const bare = uri.replace(/[?#].*/s, '');
    if (bare === uri || /[?#]/.test(found.name)) return false;
    const other = exact(bare) ?? matching(bare);
    return other !== undefined && (other.rule !== found.rule || isMistakable(bare, found));
  };
  const covering = (uri: string): Entry | undefined => {
    const found = matching(uri);
    if (found === undefined || isMistakable(uri, found) || dropsIntoAnother(uri, found)) return undefined;
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

/** A pattern that can never match is a mistake of its author. */
function checkReachable({ key, name }: Entry, faults: PolicyFault[]): void {
  // Where a wildcard may stand for the scheme too, nothing can be said.
  if (!/^[^*:]+:.*\*/.test(name)) return;
  const flaw = uriFlaw(name.replaceAll('*', 'x'));
  if (flaw === undefined) return;
  faults.push({ path: [key, name], message: `matches nothing: ${flaw}; only exact entries cover such a URI` });
}
