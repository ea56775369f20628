import { isObject } from '../lib/json/own-member.ts';
import { quoted } from '../lib/wording.ts';

/**
 * The remedy for a value of the wrong type, as the end of a message; empty without one.
 *
 * @param type The keyword of the schema.
 */
export function remedyFor(found: unknown, type: string | readonly string[] = []): string {
  const types = [type].flat();
  if (typeof found === 'string' && types.includes('boolean') && /^(?:yes|no|on|off)$/i.test(found)) {
    return `; ${quoted(found)} is a text in YAML 1.2: write ${/^(?:yes|on)$/i.test(found)}`;
  }
  const wanted = types.length === 1 ? types[0] : undefined;
  const isNumeric = types.some((each) => each === 'number' || each === 'integer') && !types.includes('string');
  if (isNumeric && typeof found === 'string' && /^-?[0-9]{1,15}$/.test(found)) {
    return `; write ${found} without quotes`;
  }
  if (wanted === 'object' && Array.isArray(found)) return '; write its entries as keys, without "- "';
  if (wanted === 'object' && (found === null || found === true || found === 'allow')) {
    return '; write {} for an empty one';
  }
  if (wanted === 'array' && typeof found === 'string') return '; put it in [ ]';
  return wanted === 'array' && isObject(found) ? '; begin each entry with "- "' : '';
}

/**
 * The remedy for a name in the place of a JSON Pointer, as the end of a message; empty without one.
 *
 * @param pattern The keyword of the schema.
 */
export function pointerRemedy(pattern: string | undefined, name: string): string {
  if (pattern !== '^/' || !/^(?:\$\.)?[A-Za-z_][\w-]*(?:[./][\w-]+)*$/.test(name)) return '';
  return `; write ${quoted(`/${name.replace(/^\$\./, '').replaceAll('.', '/')}`)}`;
}
