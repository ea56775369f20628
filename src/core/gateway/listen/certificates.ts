import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Tls } from '../../model/listen.ts';
import { certificateThumbprint } from '../../lib/digest.ts';

/** A certificate with its key, usable for TLS, as PEM. */
export interface Certificates {
  /** The certificate, then its chain. */
  readonly cert: string;
  readonly key: string;
  /** The authorities that verify the certificates of peers; undefined: none. */
  readonly ca: string | undefined;
  /** Milliseconds since the epoch. Of the certificate itself: its chain may hold an expired one, for old clients. */
  readonly expiresAt: number;
}

/** The certificate of the gateway, and its renewals. */
export interface OwnCertificate {
  /** The authority of client certificates, as configured. */
  readonly clientCa: Tls['clientCa'];
  readonly current: () => Certificates;
  /** Sets the callback for each renewed certificate. If the callback throws, the previous one stays in force. */
  onRenewed(use: (certificates: Certificates) => void): void;
  /** Stops watching the files. */
  close(): void;
}

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
