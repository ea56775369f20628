/** A name without differences of case and Unicode compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  if (ascii.test(name)) return name.toLowerCase();
  // Lower-casing makes Σ a σ or a ς by what follows, so that a pattern or a cut name would fold in another way.
  return name.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

const ascii = /^[ -~]*$/;

/** Invisible characters that many parsers drop: zero-width and other ignorable ones, controls. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;
const plain = /^[!-@[-~]*$/;

/** A text without differences of case, compatibility forms and invisible characters. */
export function withoutInvisible(text: string): string {
  return plain.test(text) ? text : folded(folded(text).replaceAll(invisible, ''));
}

/** As {@link withoutInvisible}, and without spaces around the name and dots after it. */
export function plainName(name: string): string {
  if (plain.test(name) && !name.endsWith('.')) return name;
  return withoutInvisible(name)
    .trimStart()
    .replace(/(?<![\s.])[\s.]+$/u, '');
}
