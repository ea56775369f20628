/** The most results that are remembered, because callers choose the names. Later names are computed each time. */
const MAX_NAMES = 1024;
/** The length of the longest name that is remembered, in UTF-16 code units. */
const MAX_LENGTH = 128;

/** The same function of a name, which remembers its first results: most requests have the same names. */
export function remembered<Result extends boolean | string | number | object>(
  compute: (name: string) => Result,
): (name: string) => Result {
  const results = new Map<string, Result>();
  return (name) => {
    const known = results.get(name);
    if (known !== undefined) return known;
    if (results.size >= MAX_NAMES || name.length > MAX_LENGTH) return compute(name);
    // A part of a text keeps all of the text in memory; this copy does not.
    const own = structuredClone(name);
    const result = compute(own);
    results.set(own, result);
    return result;
  };
}
