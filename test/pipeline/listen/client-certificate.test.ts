import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { certificateThumbprint } from '../../../src/lib/thumbprint.ts';
import { thumbprintOfHeader } from '../../../src/pipeline/listen/client-certificate.ts';
import { Denial } from '../../../src/model/denial.ts';
import { x509 } from '../../support/certificates.ts';
import { runs } from '../../support/runs.ts';

const good = `:${x509('client').raw.toString('base64')}:`;

/** The thumbprint, or the reason of the Denial. */
function read(value: string): string | undefined {
  try {
    return thumbprintOfHeader(value);
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

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
  expect(read(good)).toBe(certificateThumbprint(x509('client').raw));
});

test('RFC 8705 §3.1 — the thumbprint of a certificate is the SHA-256 that OpenSSL computes', () => {
  const hex = x509('client').fingerprint256.replaceAll(':', '');
  expect(certificateThumbprint(x509('client').raw)).toBe(Buffer.from(hex, 'hex').toString('base64url'));
});
