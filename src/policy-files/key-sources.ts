/** @module The names that a key of a policy covers, as regular expressions. */

import { requestPattern } from '../core/policy/requests.ts';

/** A name as a regular expression, where `*` stands for `star` and `**` for anything. */
export function nameSource(pattern: string, star: string): string {
  return sourceOf(pattern.split(/(\*+)/), star);
}

/** The URIs that a key of `resources` covers, as a regular expression. */
export function uriSource(key: string): string {
  return sourceOf(key.split(/(\*+|\{[A-Za-z][A-Za-z0-9_]*\})/), '[^/?#]*');
}

/** @param parts Literal texts, and a wildcard between each two. */
function sourceOf(parts: readonly string[], star: string): string {
  const sources = parts.map((part, index) => {
    if (index % 2 === 0) return literalSource(part);
    if (part.startsWith('{')) return '[^/?#]+';
    return part.length > 1 ? String.raw`[\s\S]*` : star;
  });
  return `^${sources.join('')}$`;
}

/** A text as a regular expression. */
function literalSource(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** The requests that a key covers, as a regular expression. */
export function requestSource(name: string): string {
  const { method, segments, hasRest } = requestPattern(name);
  const named = method === 'GET' ? '(?:GET|HEAD)' : literalSource(method);
  const path = segments.map((each) => (each === undefined ? '/[^/]+' : `/${literalSource(each)}`)).join('');
  return `^${method === '*' ? anyMethod : named} ${path}${hasRest ? String.raw`(?:/[\s\S]*)?` : ''}$`;
}

/** A method, as a regular expression. */
export const anyMethod = '[A-Z]+(?:-[A-Z]+)*';
