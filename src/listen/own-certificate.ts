import { readCertificates, type CertificateFiles, type Certificates } from '../lib/certificate-files.ts';
import type { Clock } from '../lib/clock.ts';
import type { Tls } from '../model/config.ts';
import type { TlsObserver } from '../model/observer.ts';

/** Calls `onChange` whenever one of `files` says something else, until it is closed. */
export type WatchFiles = (files: readonly string[], onChange: () => void) => Promise<{ close(): void }>;

/** The certificate that we show: as it is now, and as it becomes. */
export interface OwnCertificate {
  /** Whose certificates clients are asked for, as configured. */
  readonly clientCa: Tls['clientCa'];
  readonly current: () => Certificates;
  /** Calls back with each new one. It may throw: then the one before stays in force. */
  onRenewed(use: (certificates: Certificates) => void): void;
  /** Ends the watching of its files. */
  close(): void;
}

/** A certificate whose files somebody else follows. */
export interface ToldCertificate extends OwnCertificate {
  /** Shows this one from now on. One that cannot be used is reported and changes nothing. */
  renew(next: Certificates): void;
}

/** Who is told of our certificate. */
type Observer = Pick<TlsObserver, 'certificateInForce' | 'certificateRefused'>;

/** Shows `first`, and then what it is told. */
export function toldCertificate(clientCa: Tls['clientCa'], first: Certificates, observer: Observer): ToldCertificate {
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
 * Reads the certificate and follows its files. A pair that does not fit, in the middle of a renewal or by mistake, is
 * reported and changes nothing.
 *
 * @throws {Error} when the files cannot be used at all, although the configuration was good a moment ago.
 */
export async function openCertificate(
  tls: Tls,
  watch: WatchFiles,
  observer: Observer,
  clock: Clock,
): Promise<OwnCertificate> {
  const { clientCa } = tls;
  const files: CertificateFiles = { cert: tls.cert, key: tls.key, ca: clientCa === 'any' ? undefined : clientCa };
  let told: ToldCertificate | undefined;
  let last: Promise<unknown> = Promise.resolve();
  // Before they are read: what changes in between is seen.
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
  told = toldCertificate(clientCa, first, observer);

  async function read(): Promise<Certificates> {
    const { certificates, faults } = await readCertificates(files, clock());
    if (certificates !== undefined) return certificates;
    throw new Error(faults.map(({ file, message }) => `${files[file]} ${message}`).join('; '));
  }

  async function renew(): Promise<void> {
    try {
      const next = await read();
      told?.renew(next);
    } catch (error) {
      observer.certificateRefused((error as Error).message);
    }
  }

  return { ...told, close: () => watching.close() };
}
