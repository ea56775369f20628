import { hasDigits } from './lossless.ts';

/** An exponent that is added to: beyond, JavaScript would round the sum. */
const longExponent = /[eE][+-]?0*[0-9]{15,}$/;

/**
 * A value of `parseToRewrite` as canonical JSON (RFC 8785): sorted members, no spaces. Unlike there, a number counts by
 * its exact value: where a double would round it, its digits are written, so that 9007199254740993 and …992 differ.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number') return canonicalNumber(String(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (hasDigits(value)) return canonicalNumber(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

function canonicalNumber(source: string): string {
  const rounded = String(Number(source));
  if (rounded === source || longExponent.test(source)) return source;
  const exact = plainNumber(source);
  return plainNumber(rounded) === exact ? rounded : exact;
}

const notation = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The text of a JSON number in one notation: `1.50e3` and `1500` become `15e2`, however many digits they have. Equal
 * numbers get equal texts. Any other text stays as it is.
 */
export function plainNumber(text: string): string {
  const parts = notation.exec(text);
  if (parts === null) return text;
  const [, sign, integer = '', fraction = '', exponent = '0'] = parts;
  const digits = (integer + fraction).replace(/^0+/, '');
  if (digits === '') return 'e0';
  // A regular expression for zeros at the end would take quadratic time.
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
