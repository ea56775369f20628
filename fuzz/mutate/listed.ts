/** The words of a text. */
export function listed(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
