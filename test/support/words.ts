/** The words of a text, for a long table of names: each word is a row. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
