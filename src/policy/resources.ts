import { uriFlaw } from './canonical-uri.ts';
import type { Entry, FindEntry } from './entry.ts';
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
 * pattern to be tried, and every spelling of its authority must be decided by the same entry.
 */
export function resourceTables(entries: readonly Entry[], faults: PolicyFault[]): ResourceTables {
  const { exact, matching } = patternTable(entries, uriPattern, faults);
  for (const entry of entries) checkReachable(entry, faults);
  // RFC 3986 §6.2.2.1: a server may take `stock://AAPL` and `stock://aapl` for one. If only one of them is listed, or
  // both differently, the other must not slip through under a pattern that is wider.
  const folded = patternTable(
    entries.map((entry) => ({ ...entry, name: fold(entry.name) })),
    uriPattern,
    [],
  );
  const mixed = entries.some(({ name }) => hasUpperCase.test(name));
  const covering = (uri: string): Entry | undefined => {
    const found = matching(uri);
    if (found === undefined || (!mixed && !hasUpperCase.test(uri))) return found;
    const lower = fold(uri);
    const other = folded.exact(lower) ?? folded.matching(lower);
    return other?.rule === found.rule ? found : undefined;
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
 * (§3.2.2); with one it may go on beyond it, so that only `**` covers it.
 */
const expression = /\{([+#./;?&=,!@|]?)[^{}]*\}/g;

const authority = /^[^:/?#]*:\/\/[^/?#]*/;
const hasUpperCase = /^[^:/?#]*:\/\/[^/?#]*[A-Z]/;

function fold(uri: string): string {
  return uri.replace(authority, (start) => start.toLowerCase());
}

/** A pattern that can never match is a mistake of its author. */
function checkReachable({ key, name }: Entry, faults: PolicyFault[]): void {
  // Where a wildcard may stand for the scheme too, nothing can be said.
  if (!/^[^*:]+:.*\*/.test(name)) return;
  const flaw = uriFlaw(name.replaceAll('*', 'x'));
  if (flaw === undefined) return;
  faults.push({ path: [key, name], message: `matches nothing: ${flaw}; only exact entries cover such a URI` });
}
