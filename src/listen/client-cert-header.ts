import { X509Certificate } from 'node:crypto';
import { Denial } from '../model/denial.ts';
import { thumbprint } from './client-certificate.ts';

/** Certificates whose header was read already; proxies send the same one with each request of a client. */
const MAX_KNOWN = 256;
const known = new Map<string, string>();

/**
 * The thumbprint of the certificate in a `Client-Cert` field, RFC 9440 §2.2: one Byte Sequence (RFC 8941 §3.3.5) of its
 * DER, without parameters. Undefined for an empty one, which is how some proxies say that there was none.
 *
 * @throws {Denial} `request.certificate` for anything else: a proxy that is trusted and cannot be understood.
 */
export function thumbprintOfHeader(value: string): string | undefined {
  if (value === '' || value === '::') return undefined;
  const before = known.get(value);
  if (before !== undefined) return before;
  const found = read(value);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(value, found);
  return found;
}

function read(value: string): string {
  const [, base64] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(value) ?? [];
  if (base64 === undefined) throw malformed('is not one Byte Sequence');
  const der = Buffer.from(base64, 'base64');
  // The parser takes PEM too, and ignores what comes after a certificate.
  if (!certificateIn(der)?.raw.equals(der)) throw malformed('is not a certificate in DER');
  return thumbprint(der);
}

function certificateIn(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

function malformed(what: string): Denial {
  return new Denial('request.certificate', `Client-Cert of a peer in certificate_proxies ${what}`);
}
