import { endOfString, skipWhitespace } from './tokens.ts';

/**
 * Whether an object in a JSON text has two equal members, of which some parsers take the first and others the last.
 *
 * @param value What JSON.parse returned for the text.
 */
export function hasDuplicateMembers(text: string, value: unknown): boolean {
  let written = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = endOfString(text, at);
    if (text[skipWhitespace(text, at)] === ':') written += 1;
  }
  return written > membersOf(value);
}

/** The number of members of all objects in a value. It does not recurse: a text may nest deeper than the call stack. */
function membersOf(value: unknown): number {
  const open = [value];
  let members = 0;
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    if (typeof found !== 'object' || found === null) continue;
    const inner = Object.values(found);
    if (!Array.isArray(found)) members += inner.length;
    for (const each of inner) open.push(each);
  }
  return members;
}
