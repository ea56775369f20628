/** A name without differences of case and Unicode compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  if (ascii.test(name)) return name.toLowerCase();
  // Lower-casing makes Σ a σ or a ς by what follows, so that a pattern or a cut name would fold in another way.
  return name.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

const ascii = /^[ -~]*$/;
