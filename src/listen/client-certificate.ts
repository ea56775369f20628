import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Tls } from '../model/config.ts';

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
    const found = certificate === undefined ? undefined : thumbprint(certificate.raw);
    known.set(socket, found);
    return found;
  };
}

/** `x5t#S256` of a certificate in DER, RFC 8705 §3.1. */
export function thumbprint(der: Buffer): string {
  return createHash('sha256').update(der).digest('base64url');
}
