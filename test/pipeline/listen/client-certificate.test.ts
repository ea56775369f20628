import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { certificateThumbprint } from '../../../src/lib/digest.ts';
import { thumbprintOfHeader } from '../../../src/pipeline/listen/trusted-proxies.ts';
import { pem, x509 } from '../../support/certificates.ts';
import { runs } from '../../support/runs.ts';
import { orReason } from '../../support/denial.ts';

const good = `:${x509('client').raw.toString('base64')}:`;

/** The thumbprint, or the reason of the Denial. */
function read(value: string): string | undefined {
  return orReason(() => thumbprintOfHeader(value));
}

const der = x509('client').raw;
const base64 = der.toString('base64');

test.each([
  ['a Byte Sequence', good],
  // RFC 8941 §4.2.7: parsers SHOULD NOT fail when padding is not present.
  ['one without padding', good.replace(/=+:$/, ':')],
])('reads %s', (_what, value) => {
  expect(read(value)).toBe(certificateThumbprint(der));
});

test.each([
  ['base64 without colons', base64],
  ['a String', `"${base64}"`],
  ['one with a parameter', `${good};a=1`],
  ['base64url', `:${base64.replaceAll('+', '-').replaceAll('/', '_')}-:`],
  ['a space in it', `:${base64.slice(0, 8)} ${base64.slice(8)}:`],
  ['PEM', `:${Buffer.from(pem('client')).toString('base64')}:`],
  ['PEM as nginx escapes it', encodeURIComponent(pem('client'))],
  ['no certificate', ':AAAA:'],
  ['half of one', `:${base64.slice(0, 400)}:`],
  ['one with something behind it', `:${Buffer.concat([der, Buffer.from('x')]).toString('base64')}:`],
  ['two in one', `${good}, ${good}`],
])('refuses %s', (_what, value) => {
  expect(read(value)).toBe('request.certificate');
});

test.each(['', '::'])('finds no certificate in %j', (value) => {
  expect(read(value)).toBeUndefined();
});

test('RFC 9440 §2.2 — any Client-Cert gives its certificate, none or a Denial', () => {
  const damaged = fc
    .tuple(fc.nat(good.length), fc.nat(3), fc.string({ maxLength: 3 }))
    .map(([at, gone, put]) => good.slice(0, at) + put + good.slice(at + gone));
  fc.assert(
    fc.property(fc.oneof(damaged, fc.string(), fc.constantFrom(good, '', '::')), (value) => {
      const isEmpty = value === '' || value === '::';
      // A certificate with another signature is another one: whose word that is, the proxy has to know.
      const itsOwn = certificateThumbprint(Buffer.from(value.slice(1, -1), 'base64'));
      expect(isEmpty ? [undefined] : [itsOwn, 'request.certificate']).toContain(read(value));
    }),
    { numRuns: runs },
  );
});

test('RFC 8705 §3.1 — the thumbprint of a certificate is the SHA-256 that OpenSSL computes', () => {
  const hex = x509('client').fingerprint256.replaceAll(':', '');
  expect(certificateThumbprint(x509('client').raw)).toBe(Buffer.from(hex, 'hex').toString('base64url'));
});
