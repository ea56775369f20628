import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { certificateThumbprint } from '../../lib/digest.ts';
import type { Tls } from '../../model/config.ts';
import { Denial } from '../../model/denial.ts';

/** Finds the thumbprint of the certificate that the client of a connection proved to hold; undefined without one. */
export type CertificateOf = (socket: Socket) => string | undefined;

/**
 * Creates the look-up of client certificates. It reads a certificate once for each connection, also if the TLS session
 * was resumed.
 *
 * @param clientCa As in {@link Tls}. With the file of an authority, only certificates that it verifies count. With
 *   `any` every certificate counts, RFC 8705 §2.2: the handshake proves the key, and the token names the certificate.
 */
export function createCertificateOf(clientCa: Tls['clientCa']): CertificateOf {
  if (clientCa === undefined) return () => undefined;
  const known = new WeakMap<Socket, string | undefined>();
  return (socket) => {
    if (known.has(socket)) return known.get(socket);
    const secure = socket as TLSSocket;
    const certificate = clientCa === 'any' || secure.authorized ? secure.getPeerX509Certificate() : undefined;
    const found = certificate === undefined ? undefined : certificateThumbprint(certificate.raw);
    known.set(socket, found);
    return found;
  };
}

/** The most certificates that are remembered. A proxy sends the same one with each request of a client. */
const MAX_KNOWN = 256;
const thumbprints = new Map<string, string>();

/**
 * The thumbprint of the certificate in a `Client-Cert` field, RFC 9440 §2.2: one Byte Sequence (RFC 8941 §3.3.5) with
 * its DER, without parameters. Undefined for an empty value, which some proxies send if the client had no certificate.
 *
 * @throws {Denial} `request.certificate` for any other value: the gateway trusts the proxy and cannot read what it
 *   sends.
 */
export function thumbprintOfHeader(value: string): string | undefined {
  if (value === '' || value === '::') return undefined;
  const known = thumbprints.get(value);
  if (known !== undefined) return known;
  const found = readThumbprint(value);
  if (thumbprints.size >= MAX_KNOWN) thumbprints.clear();
  thumbprints.set(value, found);
  return found;
}

function readThumbprint(value: string): string {
  const [, base64] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(value) ?? [];
  if (base64 === undefined) throw malformed('is not one Byte Sequence');
  const der = Buffer.from(base64, 'base64');
  // The parser accepts PEM too, and ignores bytes after a certificate.
  if (!certificateIn(der)?.raw.equals(der)) throw malformed('is not a certificate in DER');
  return certificateThumbprint(der);
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
