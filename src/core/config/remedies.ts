import { isObject } from '../lib/json/own-member.ts';
import { quoted } from '../lib/wording.ts';

/** The keywords of a schema by which a remedy is chosen. */
interface Expected {
  readonly type?: string | readonly string[];
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly properties?: Readonly<Record<string, unknown>>;
}

/**
 * The remedy for a value of the wrong type, as the end of a message; empty without one.
 *
 * @param schema What the value should be.
 */
export function remedyFor(
  found: unknown,
  { type = [], required = [], minProperties = 0, properties = {} }: Expected,
): string {
  const types = [type].flat();
  if (typeof found === 'string' && types.includes('boolean') && /^(?:yes|no|on|off)$/i.test(found)) {
    return `; ${quoted(found)} is a text in YAML 1.2: write ${/^(?:yes|on)$/i.test(found)}`;
  }
  const wanted = types.length === 1 ? types[0] : undefined;
  const isNumeric = types.some((each) => each === 'number' || each === 'integer') && !types.includes('string');
  if (isNumeric && typeof found === 'string' && /^-?[0-9]{1,15}$/.test(found)) {
    return `; write ${found} without quotes`;
  }
  if (isNumeric && typeof found === 'string' && /^-?[0-9]{1,3}(?:[_,' ][0-9]{3})+$/.test(found)) {
    return `; write ${found.replaceAll(/[^-0-9]/g, '')}`;
  }
  if (wanted === 'object' && Array.isArray(found)) return '; write its entries as keys, without "- "';
  if (wanted === 'object' && (found === null || found === true || found === 'allow')) {
    return required.length === 0 && minProperties === 0 ? '; write {} for an empty one' : '';
  }
  if (wanted === 'object' && found === 'deny') return '; remove it: what is not listed is denied';
  const keys = Object.keys(properties);
  if (wanted === 'object' && typeof found !== 'object' && required.length === 0 && keys.length > 0 && keys.length < 12)
    return `; its keys are ${keys.join(', ')}`;
  if (wanted === 'string' && isObject(found) && typeof found['claim'] === 'string')
    return '; { claim: NAME } has no meaning here: equals, one_of, contains, within and bounds take it';
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
