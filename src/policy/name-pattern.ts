import type { Pattern } from './pattern-table.ts';

/**
 * Compiles a name in which `*` stands for any run of characters, also none. Everything else stands for itself, case and
 * all. Each part is searched once and never again, so that no name that a caller makes up can be slow to match.
 */
export function namePattern(pattern: string): Pattern {
  const canonical = pattern.replaceAll(/\*+/g, '*');
  const parts = canonical.split('*');
  const prefix = parts[0] ?? '';
  const suffix = parts.at(-1) ?? '';
  const middle = parts.slice(1, -1);
  return {
    canonical,
    literals: canonical.length - (parts.length - 1),
    unbounded: 0,
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
