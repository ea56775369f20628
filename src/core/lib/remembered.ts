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

/** The same function, which keeps its results by the keys of its arguments. It drops all of them when they are many. */
export function memoized<Argument, Result extends object | string>(
  compute: (argument: Argument) => Result,
  keyOf: (argument: Argument) => string,
  maxResults = 1000,
): (argument: Argument) => Result {
  const results = new Map<string, Result>();
  return (argument) => {
    const key = keyOf(argument);
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = compute(argument);
    if (results.size >= maxResults) results.clear();
    results.set(key, result);
    return result;
  };
}

/** The value of a key; `make` makes it where the map has none. */
export function ensure<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
