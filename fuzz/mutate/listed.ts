/** Words as they are written beside each other. */
export function listed(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
