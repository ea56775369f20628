import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { certificateThumbprint } from '../lib/thumbprint.ts';
import type { Tls } from '../model/config.ts';
import { Denial } from '../model/denial.ts';

/** The thumbprint of the certificate that a connection's client proved to have; undefined without one. */
export type CertificateOf = (socket: Socket) => string | undefined;

/**
 * Creates what finds a client's certificate, once a connection, and whether its session was resumed or not.
 *
 * @param clientCa As in {@link Tls}: of an authority's file, certificates count that it verified; with `any` each one,
 *   RFC 8705 §2.2, since the handshake has proved the key and the token names the certificate.
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
