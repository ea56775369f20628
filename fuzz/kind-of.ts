/** A reason or a problem without the words and numbers that the case itself brought: what is left says which way it went. */
export function kindOf(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\d+/g, '').slice(0, 80);
}
