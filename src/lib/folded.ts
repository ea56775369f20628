/** A name as the most forgiving reader sees it, without regard to case and compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  if (foldedAlready.test(name)) return name;
  if (ascii.test(name)) return name.toLowerCase();
  // Of Σ, lower-casing makes σ or ς by what follows: a pattern, or a name without its end, would fold another way.
  return name.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/** ASCII without capitals, which none of the steps changes. */
const foldedAlready = /^[ -@[-~]*$/;
const ascii = /^[ -~]*$/;
