/** The text of a refusal or problem without quoted words and numbers, which vary from case to case. */
export function kindOf(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\d+/g, '').slice(0, 80);
}
