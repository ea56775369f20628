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
