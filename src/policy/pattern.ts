/** A compiled name with `*` in it. */
export interface Pattern {
  /** With superfluous `*` left out: equal patterns are equal here. */
  readonly canonical: string;
  /** Characters that are not `*`, in UTF-16 code units: the more, the more specific. */
  readonly literals: number;
  /** The number of `**`: of two patterns with equally many literals, the one with fewer is more specific. */
  readonly unbounded: number;
  readonly matches: (name: string) => boolean;
}

/**
 * Compiles a name in which `*` stands for any run of characters, also none. Every other character stands for itself,
 * case-sensitively. Each part is searched only once, so that no name that a caller chooses is slow to match.
 */
export function namePattern(pattern: string): Pattern {
  const canonical = pattern.replaceAll(/\*+/g, '*');
  const parts = canonical.split('*');
  const prefix = parts[0] ?? '';
  const suffix = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return {
    canonical,
    literals: canonical.length - (parts.length - 1),
    unbounded: 0,
    matches(name) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) return false;
      let from = prefix.length;
      for (const part of middle) {
        const at = name.indexOf(part, from);
        if (at < 0) return false;
        from = at + part.length;
      }
      // The ends must not overlap: `a*a` does not match `a`.
      return from <= name.length - suffix.length;
    },
  };
}

/**
 * Compiles a URI in which `*` stands for any run of characters within a segment, also none, and `**` for any run at
 * all. A segment ends at `/`, `?` and `#` (RFC 3986 §3.3), so that `*` never covers a query. Every other character
 * stands for itself, in its case.
 */
export function uriPattern(pattern: string): Pattern {
  const canonical = pattern.replaceAll(/\*{2,}/g, '**');
  return {
    canonical,
    literals: canonical.replaceAll('*', '').length,
    unbounded: canonical.split('**').length - 1,
    matches: (uri) => matchesUri(canonical, uri),
  };
}

/**
 * Far more steps than any ordinary URI takes. A URI made to be slow exceeds them, which is an error and thus a denial.
 */
const MAX_STEPS = 50_000;

/**
 * Tries each wildcard as short as possible, and lengthens only the last `*` and the last `**`. Earlier ones need not be
 * tried again: what they could still take, the later one of the same kind takes as well, and a `*` cannot give away a
 * `/`. So it takes at most quadratic time, where a regular expression would take exponential.
 */
function matchesUri(pattern: string, uri: string): boolean {
  let at = 0;
  let step = 0;
  // For the last wildcard of each kind: where the pattern continues after it, 0 without one, and where its match ends.
  let afterStar = 0;
  let starUntil = 0;
  let afterAny = 0;
  let anyUntil = 0;
  for (let left = MAX_STEPS; ; left -= 1) {
    if (left === 0) throw new Error('the uri takes too many steps to match');
    if (pattern[step] === '*') {
      if (pattern[step + 1] === '*') {
        step += 2;
        afterAny = step;
        anyUntil = at;
        afterStar = 0;
      } else {
        step += 1;
        afterStar = step;
        starUntil = at;
      }
      continue;
    }
    // The URI ends before the pattern's literals do; longer wildcards would leave even less for them.
    if (at === uri.length) return step === pattern.length;
    if (pattern[step] === uri[at]) {
      step++;
      at++;
    } else if (afterStar > 0 && !endsSegment(uri[starUntil])) {
      at = ++starUntil;
      step = afterStar;
    } else if (afterAny > 0) {
      // The last `*` has come to the end of its segment, and stays there until the pattern has another.
      at = ++anyUntil;
      step = afterAny;
    } else {
      return false;
    }
  }
}

function endsSegment(character: string | undefined): boolean {
  return character === '/' || character === '?' || character === '#';
}
