/**
 * Joins strings into one, each preceded by its length in UTF-8 bytes. Two different lists never give the same text, so
 * that no caller can choose a name that forms the key of another caller.
 */
export function lengthPrefixed(parts: readonly string[]): string {
  return parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
}
