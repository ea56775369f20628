import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { readCertificates, type CertificateFiles, type Certificates } from '../../lib/certificate-files.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Tls } from '../../model/config.ts';
import type { TlsObserver } from '../../model/events.ts';
import { certificateThumbprint } from '../../lib/digest.ts';

/** Calls `onChange` each time the content of one of `files` changes, until it is closed. */
export type WatchFiles = (files: readonly string[], onChange: () => void) => Promise<{ close(): void }>;

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

/** A certificate that another process watches and sends. */
export interface ReceivedCertificate extends OwnCertificate {
  /** Uses this certificate from now on. An unusable one is reported, and the previous one stays in force. */
  renew(next: Certificates): void;
}

type Observer = Pick<TlsObserver, 'certificateInForce' | 'certificateRefused'>;

/** Creates the certificate of a process that receives its renewals from another one. */
export function receivedCertificate(
  clientCa: Tls['clientCa'],
  first: Certificates,
  observer: Observer,
): ReceivedCertificate {
  let use: (certificates: Certificates) => void = () => {};
  let current = first;
  observer.certificateInForce(new Date(first.expiresAt));
  return {
    clientCa,
    current: () => current,
    onRenewed: (callback) => (use = callback),
    renew(next) {
      try {
        use(next);
        current = next;
        observer.certificateInForce(new Date(next.expiresAt));
      } catch (error) {
        observer.certificateRefused((error as Error).message);
      }
    },
    close() {},
  };
}

/**
 * Reads the certificate and watches its files. A certificate and key that do not match, by mistake or in the middle of
 * a renewal, are reported, and the previous pair stays in force.
 *
 * @throws {Error} if the files cannot be used at start.
 */
export async function openCertificate(
  tls: Tls,
  watch: WatchFiles,
  observer: Observer,
  clock: Clock,
): Promise<OwnCertificate> {
  const { clientCa } = tls;
  const files: CertificateFiles = { cert: tls.cert, key: tls.key, ca: clientCa === 'any' ? undefined : clientCa };
  let held: ReceivedCertificate | undefined;
  let last: Promise<unknown> = Promise.resolve();
  // Watched before they are read: a change in between is noticed.
  const watching = await watch(
    Object.values(files).filter((file): file is string => file !== undefined),
    () => void (last = last.then(renew)),
  );
  const opening = read();
  last = opening.catch(() => {});
  const first = await opening.catch((error: unknown) => {
    watching.close();
    throw error;
  });
  held = receivedCertificate(clientCa, first, observer);

  async function read(): Promise<Certificates> {
    const { certificates, faults } = await readCertificates(files, clock());
    if (certificates !== undefined) return certificates;
    throw new Error(faults.map(({ file, message }) => `${files[file]} ${message}`).join('; '));
  }

  async function renew(): Promise<void> {
    try {
      const next = await read();
      held?.renew(next);
    } catch (error) {
      observer.certificateRefused((error as Error).message);
    }
  }

  return { ...held, close: () => watching.close() };
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
