import type { Certificates, OwnCertificate } from '../core/gateway/listen/certificates.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Tls } from '../core/model/listen.ts';
import type { TlsObserver } from '../core/model/events.ts';
import { type CertificateFiles, readCertificates } from './config/certificate-files.ts';
import { watchFiles } from './config/watch.ts';

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
export async function openCertificate(tls: Tls, observer: Observer, clock: Clock): Promise<OwnCertificate> {
  const { clientCa } = tls;
  const files: CertificateFiles = { cert: tls.cert, key: tls.key, ca: clientCa === 'any' ? undefined : clientCa };
  let held: ReceivedCertificate | undefined;
  let last: Promise<unknown> = Promise.resolve();
  // Watched before they are read: a change in between is noticed.
  const watching = await watchFiles(
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
