/** A name without differences of case and Unicode compatibility forms: ſ is s, K is k. */
export function folded(name: string): string {
  if (isFolded(name)) return name;
  if (ascii.test(name)) return name.toLowerCase();
  // Lower-casing makes Σ a σ or a ς by what follows, so that a pattern or a cut name would fold in another way.
  return name.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

const ascii = /^[ -~]*$/;

/** Whether a name is printable ASCII without capitals. A regular expression takes twice as long for a short name. */
export function isFolded(name: string): boolean {
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || (code >= 0x41 && code <= 0x5a)) return false;
  }
  return true;
}
