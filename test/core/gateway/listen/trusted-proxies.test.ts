import { isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { certificateThumbprint } from '../../../../src/core/lib/digest.ts';
import { readFields } from '../../../../src/core/gateway/listen/call.ts';
import { createClientBehind, thumbprintOfHeader } from '../../../../src/core/gateway/listen/trusted-proxies.ts';
import { x509, pem } from '../../../support/certificates.ts';
import { runs } from '../../../support/runs.ts';
import { orReason } from '../../../support/denial.ts';

const clientBehind = createClientBehind(['10.0.0.0/8', '192.0.2.7', '::1', 'fd00::/8'], []);

/** What `peer` says of its client with these X-Forwarded-For fields: the whole way, or nothing. */
function way(peer: string, ...forwardedFor: readonly string[]): string | undefined {
  const raw = forwardedFor.flatMap((value) => ['X-Forwarded-For', value]);
  const found = clientBehind?.(peer, readFields(['Host', 'h', ...raw]));
  expect(found?.client).toBe(found?.forwardedFor.split(', ')[0]);
  return found?.forwardedFor;
}

describe('the client', () => {
  test.each<[string, string, readonly string[], string | undefined]>([
    ['a peer that is not trusted says nothing', '192.0.2.8', ['203.0.113.9'], undefined],
    ['nor one of IPv6', 'fe80::1', ['203.0.113.9'], undefined],
    ['nor one that has gone', '', ['203.0.113.9'], undefined],
    ['a trusted one that says nothing is the client', '10.0.0.1', [], '10.0.0.1'],
    ['an empty field is nothing', '10.0.0.1', [''], '10.0.0.1'],
    ['what it has seen', '10.0.0.1', ['203.0.113.9'], '203.0.113.9, 10.0.0.1'],
    ['through a second', '192.0.2.7', ['203.0.113.9, 10.0.0.1'], '203.0.113.9, 10.0.0.1, 192.0.2.7'],
    ['in two fields', '192.0.2.7', ['203.0.113.9', '10.0.0.1'], '203.0.113.9, 10.0.0.1, 192.0.2.7'],
    ['not what the client wrote before', '10.0.0.1', ['10.9.9.9, 198.51.100.1, 203.0.113.9'], '203.0.113.9, 10.0.0.1'],
    ['nor in a field of its own', '10.0.0.1', ['10.9.9.9', '203.0.113.9'], '203.0.113.9, 10.0.0.1'],
    ['everybody trusted: the first', '10.0.0.1', ['10.0.0.3, 10.0.0.2'], '10.0.0.3, 10.0.0.2, 10.0.0.1'],
    ['of IPv6', '::1', ['2001:DB8::9, fd00::2'], '2001:db8::9, fd00::2, ::1'],
    ['with a port', '10.0.0.1', ['203.0.113.9:4711'], '203.0.113.9, 10.0.0.1'],
    ['in brackets, with and without', '10.0.0.1', ['[2001:db8::9]:4711, [fd00::2]'], '2001:db8::9, fd00::2, 10.0.0.1'],
    ['IPv4 as IPv6', '10.0.0.1', ['::ffff:203.0.113.9, ::FFFF:10.0.0.2'], '203.0.113.9, 10.0.0.2, 10.0.0.1'],
    ['spaces and tabs', '10.0.0.1', ['\t203.0.113.9 ,  10.0.0.2 '], '203.0.113.9, 10.0.0.2, 10.0.0.1'],
    ['no address: nothing before it', '10.0.0.1', ['203.0.113.9, unknown, 10.0.0.2'], '10.0.0.2, 10.0.0.1'],
    ['an empty member: the same', '10.0.0.1', ['203.0.113.9,,10.0.0.2'], '10.0.0.2, 10.0.0.1'],
    ['a name', '10.0.0.1', ['evil.example'], '10.0.0.1'],
    ['a zone', '10.0.0.1', ['fe80::1%eth0'], '10.0.0.1'],
    ['as Forwarded has it', '10.0.0.1', ['for="203.0.113.9"'], '10.0.0.1'],
    ['octal', '10.0.0.1', ['0313.0.0161.9'], '10.0.0.1'],
  ])('%s', (_title, peer, forwardedFor, wanted) => {
    expect(way(peer, ...forwardedFor)).toBe(wanted);
  });

  test('at most 32 hops are read', () => {
    expect(way('10.0.0.1', '10.0.0.2, '.repeat(500))).toBe('10.0.0.1');
    expect(way('10.0.0.1', `${'10.0.0.2, '.repeat(500)}10.0.0.2`)).toBe(`${'10.0.0.2, '.repeat(32)}10.0.0.1`);
  });

  test('Forwarded is not read', () => {
    expect(clientBehind?.('10.0.0.1', readFields(['Host', 'h', 'Forwarded', 'for=203.0.113.9']))?.client).toBe(
      '10.0.0.1',
    );
  });

  test('any X-Forwarded-For gives a list of addresses that ends with the peer', () => {
    const member = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.2', '[::1]:1', '', 'x'), fc.string());
    fc.assert(
      fc.property(fc.array(member), (members) => {
        const hops = way('10.0.0.1', members.join(','))?.split(', ') ?? [];
        expect(hops.at(-1)).toBe('10.0.0.1');
        expect(hops.filter((hop) => isIP(hop) === 0)).toEqual([]);
      }),
    );
  });

  test('without trusted proxies there is no reader', () => {
    expect(createClientBehind([], [])).toBeUndefined();
  });
});

const { raw: der } = x509('client');
const base64 = der.toString('base64');
const good = `:${base64}:`;
const found = certificateThumbprint(der);

describe('the certificate', () => {
  const fields = readFields(['Host', 'h', 'X-Forwarded-For', '203.0.113.9', 'Client-Cert', good]);
  const client = createClientBehind(['10.0.0.1', '10.0.0.3'], ['10.0.0.2', '10.0.0.3']);

  test.each([
    ['trusted with addresses alone', '10.0.0.1', { client: '203.0.113.9', certificateThumbprint: undefined }],
    ['trusted with certificates alone', '10.0.0.2', { client: '10.0.0.2', certificateThumbprint: found }],
    ['trusted with both', '10.0.0.3', { client: '203.0.113.9', certificateThumbprint: found }],
    ['trusted with neither', '10.0.0.4', undefined],
  ])('of a peer that is %s', (_title, peer, expected) => {
    const said = client?.(peer, fields);
    expect(said && { client: said.client, certificateThumbprint: said.certificateThumbprint }).toEqual(expected);
  });
});

/** The thumbprint, or the reason of the Denial. */
const read = (value: string): string | undefined => orReason(() => thumbprintOfHeader(value));

test.each([
  ['a Byte Sequence', good],
  // RFC 8941 §4.2.7: parsers SHOULD NOT fail when padding is not present.
  ['one without padding', good.replace(/=+:$/, ':')],
])('reads %s', (_what, value) => {
  expect(read(value)).toBe(found);
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
  expect(found).toBe(Buffer.from(hex, 'hex').toString('base64url'));
});
