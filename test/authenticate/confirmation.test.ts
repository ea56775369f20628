import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { confirmationOf } from '../../src/authenticate/confirmation.ts';
import { Denial } from '../../src/model/denial.ts';

const one = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I';
const other = 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2';

test.each([
  [undefined, undefined],
  [{ jkt: one }, { jwkThumbprint: one, certificateThumbprint: undefined }],
  [{ 'x5t#S256': other }, { jwkThumbprint: undefined, certificateThumbprint: other }],
  [
    { jkt: one, 'x5t#S256': other },
    { jwkThumbprint: one, certificateThumbprint: other },
  ],
])('%j', (cnf, expected) => {
  expect(confirmationOf(cnf)).toEqual(expected);
});

test.each([[null], ['x'], [''], [5], [true], [[]], [[{ jkt: one }]]])('%j is no object, whatever it has', (cnf) => {
  expect(() => confirmationOf(cnf)).toThrow('cnf is not an object');
});

test.each([
  ['cnf is empty', {}],
  ['cnf has a member besides jkt and x5t#S256', { jkt: one, kid: 'k' }],
  ['jkt of cnf is not a SHA-256', { jkt: 'x', 'x5t#S256': other }],
  ['x5t#S256 of cnf is not a SHA-256', { jkt: one, 'x5t#S256': 'x' }],
])('the operator learns which: %s', (why, cnf) => {
  expect(() => confirmationOf(cnf)).toThrow(why);
});

test.each([
  [{}],
  [{ jkt: '' }],
  [{ jkt: null, 'x5t#S256': one }],
  [{ jkt: one, 'x5t#S256': 5 }],
  [{ jkt: `${one}=` }],
  [{ jkt: `x${one}` }],
  [{ jkt: `${one} ` }],
  [{ jkt: [one] }],
  [{ kid: 'k' }],
  [{ jwk: {} }],
  [{ jkt: one, kid: 'k' }],
  [{ 'x5t#s256': one }],
])('bound in a way that cannot be checked: %j', (cnf) => {
  expect(() => confirmationOf(cnf)).toThrow(expect.objectContaining({ reason: 'token.sender_constrained' }) as Error);
});

test('anything else is refused by a Denial', () => {
  const anything = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom('jkt', 'x5t#S256', 'kid'), fc.jsonValue()));
  fc.assert(
    fc.property(anything, (cnf) => {
      expect(() => confirmationOf(cnf)).toThrow(Denial);
    }),
  );
});
