/** @module The names that a key of a policy covers, as regular expressions. */

import { requestPattern } from '../core/policy/requests.ts';

/** A name as a regular expression, where `*` stands for `star` and `**` for anything. */
export function nameSource(pattern: string, star: string): string {
  const parts = pattern.split(/(\*+)/).map((part, index) => {
    if (index % 2 === 0) return literalSource(part);
    return part.length > 1 ? anything : star;
  });
  return `^${parts.join('')}$`;
}

const anything = String.raw`[\s\S]*`;

/** A text as a regular expression. */
function literalSource(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** The URIs that a key of `resources` covers, as a regular expression. */
export function uriSource(key: string): string {
  const parts = key.split(/(\*+|\{[A-Za-z][A-Za-z0-9_]*\})/).map((part, index) => {
    if (index % 2 === 0) return literalSource(part);
    if (part.startsWith('{')) return '[^/?#]+';
    return part.length > 1 ? anything : '[^/?#]*';
  });
  return `^${parts.join('')}$`;
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
