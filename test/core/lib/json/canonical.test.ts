import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, plainNumber } from '../../../../src/core/lib/json/canonical.ts';
import { parseToRewrite } from '../../../../src/core/lib/json/lossless.ts';

test.each([
  ['9007199254740993', '9007199254740993e0'],
  ['9007199254740993.0', '9007199254740993e0'],
  ['9007199254740993.000', '9007199254740993e0'],
  ['9.007199254740993e15', '9007199254740993e0'],
  ['9.007199254740993E+15', '9007199254740993e0'],
  ['90071992547409930e-1', '9007199254740993e0'],
  ['-9007199254740993', '-9007199254740993e0'],
  ['1500', '15e2'],
  ['1.50e3', '15e2'],
  ['105.50', '1055e-1'],
  ['0.1e401', '1e400'],
  ['0.00010e404', '1e400'],
  ['1e400', '1e400'],
  ['10e399', '1e400'],
  ['1e21', '1e21'],
  ['1e+21', '1e21'],
  ['0', 'e0'],
  ['-0.00e7', 'e0'],
])('writes %s as %s', (text, plain) => {
  expect(plainNumber(text)).toBe(plain);
});

test.each(['null', '', '"7"', '"1e3"', 'x1', '1x', '1e', '1.', '.1', '1.2.3', '-', '1ex'])(
  'leaves %j as it is',
  (text) => {
    expect(plainNumber(text)).toBe(text);
  },
);

test('gives equal numbers one text, and others different ones', () => {
  const digits = fc.bigInt({ min: 1n, max: 10n ** 30n });
  const zeros = fc.nat({ max: 20 });
  fc.assert(
    fc.property(digits, digits, zeros, (one, other, shift) => {
      const moved = `${one}${'0'.repeat(shift)}.0${'0'.repeat(shift)}e-${shift}`;
      expect(plainNumber(moved)).toBe(plainNumber(String(one)));
      expect(plainNumber(String(one)) === plainNumber(String(other))).toBe(one === other);
    }),
  );
});

test.each([
  ['{"b":1,"a":2}', '{"a":2,"b":1}'],
  ['[1.0, 1e0, 10e-1, 1, -0, 0.0]', '[1,1,1,1,0,0]'],
  ['[10e399, 9007199254740993, 9007199254740992]', '[1e400,9007199254740993e0,9007199254740992]'],
  ['[0.1, 1000000000000000000000]', '[0.1,1e+21]'],
  ['{"ä":"\\u00e4","\\ud83d\\ude00":null}', '{"ä":"ä","😀":null}'],
])('canonical JSON of %s is %s', (text, canonical) => expect(canonicalJson(parseToRewrite(text))).toBe(canonical));
