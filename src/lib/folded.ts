/** A name as the most forgiving reader sees it, without regard to case and compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  if (foldedAlready.test(name)) return name;
  if (ascii.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase();
}

/** ASCII without capitals, which none of the three steps changes. */
const foldedAlready = /^[ -@[-~]*$/;
const ascii = /^[ -~]*$/;
