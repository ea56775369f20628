/** Text as JSON escapes: `\u` and four digits for each UTF-16 code unit. */
export function jsonEscapes(text: string): string {
  return text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
