/** The words of a text, for tables of values without spaces. A backslash stands for itself. */
export function wordsIn({ raw }: TemplateStringsArray): readonly string[] {
  return raw.join('').trim().split(/\s+/);
}
