/** A name without differences of case and Unicode compatibility forms: ſ is s, K is k, and both ı and İ are i. */
export function folded(name: string): string {
  if (ascii.test(name)) return name.toLowerCase();
  // Lower-casing makes Σ a σ or a ς by what follows, so that a pattern or a cut name would fold in another way. Of İ
  // JavaScript makes i and a dot above; Java, Go and C, which map each character to one, make i.
  return compatible(name)
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(/i\u0307+/g, 'i');
}

const ascii = /^[ -~]*$/;

/** Thirty marks, or halfwidth forms that become marks, before another: more than a letter of any language has. */
const manyMarks = /[\p{M}\uFF9E\uFF9F]{30}(?=[\p{M}\uFF9E\uFF9F])/gu;

/**
 * A text in the form NFKC. A longer run of marks is cut by U+034F, as Unicode defines for streams (UAX #15 §13): its
 * marks have to be sorted, which takes quadratic time.
 */
export function compatible(text: string): string {
  return text.replaceAll(manyMarks, '$&\u034F').normalize('NFKC');
}

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
