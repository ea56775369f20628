/**
 * Joins strings into one, each preceded by its length in UTF-8 bytes. Two different lists never give the same text, so
 * that a caller cannot choose a name that reads as another's key.
 */
export function lengthPrefixed(parts: readonly string[]): string {
  return parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
}
