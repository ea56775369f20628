/** A name as the most forgiving reader sees it, without regard to case and compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase();
}
