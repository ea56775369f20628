/** The values of every cookie of this name in a `Cookie` field, RFC 6265 §4.2.1, in their order. */
export function cookiesNamed(name: string, field = ''): readonly string[] {
  return pairsOf(field)
    .filter((pair) => isNamed(pair, name))
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/** A `Cookie` field without the cookies of this name; empty where there is no other. */
export function withoutCookie(name: string, field: string): string {
  if (!field.includes(name)) return field;
  return pairsOf(field)
    .filter((pair) => !isNamed(pair, name))
    .join('; ');
}

function pairsOf(field: string): readonly string[] {
  return field.split(';').map((pair) => pair.trim());
}

function isNamed(pair: string, name: string): boolean {
  return pair.split('=', 1)[0]?.trim() === name;
}
