import type { Pattern } from './pattern-table.ts';

/**
 * Compiles a URI in which `*` stands for any run of characters within a segment, also none, and `**` for any run at all.
 * A segment ends at `/`, `?` and `#` (RFC 3986 §3.3): a query is not part of what `*` covers. Everything else stands for
 * itself, case and all.
 */
export function uriPattern(pattern: string): Pattern {
  const canonical = pattern.replaceAll(/\*{2,}/g, '**');
  return {
    canonical,
    literals: canonical.replaceAll('*', '').length,
    unbounded: canonical.split('**').length - 1,
    matches: (uri) => matches(canonical, uri),
  };
}

/** Far more than a uri of the longest length takes that was not made to be slow; one that was is an error, and denied. */
const MAX_STEPS = 50_000;

/**
 * Tries each wildcard as short as possible, and lengthens only the last `*` and the last `**`. Earlier ones need not be
 * tried again: what they could still take, the later one of the same kind takes as well, and a `*` cannot give away a
 * `/`. So it takes at most quadratic time, where a regular expression would take exponential.
 */
function matches(pattern: string, uri: string): boolean {
  let at = 0;
  let step = 0;
  // Where the pattern goes on after the last wildcard, 0 without one, and what of the URI that wildcard leaves to it.
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
    // Nothing is left for the literals to come; longer wildcards would leave still less.
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
