/** A compiled name with `*` in it. */
export interface NamePattern {
  /** With runs of `*` written as one: equal patterns are equal here. */
  readonly canonical: string;
  /** Characters that are not `*`, in UTF-16 code units: the more, the more specific. */
  readonly literals: number;
  readonly matches: (name: string) => boolean;
}

/**
 * Compiles a name in which `*` stands for any run of characters, also none. Everything else stands for itself, case and
 * all. Each part is searched once and never again, so that no name that a caller makes up can be slow to match.
 */
export function namePattern(pattern: string): NamePattern {
  const canonical = pattern.replaceAll(/\*+/g, '*');
  const parts = canonical.split('*');
  const prefix = parts[0] ?? '';
  const suffix = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return {
    canonical,
    literals: canonical.length - (parts.length - 1),
    matches(name) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) return false;
      let from = prefix.length;
      for (const part of middle) {
        const at = name.indexOf(part, from);
        if (at < 0) return false;
        from = at + part.length;
      }
      // The ends must not overlap: `a*a` does not match `a`.
      return from <= name.length - suffix.length;
    },
  };
}
