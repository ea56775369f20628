import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Certificates } from '../../core/gateway/listen/certificates.ts';
import { readText, type TextOrFault } from '../../core/lib/files.ts';

/** Where a certificate is: paths of PEM files. */
export interface CertificateFiles {
  /** The certificate, then its chain. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
  /** The authorities that verify the certificates of peers; undefined: none. */
  readonly ca: string | undefined;
}

/** A fault of one of the files. Never quotes its content. */
interface CertificateFault {
  readonly file: keyof CertificateFiles;
  /** Goes after the file's name: `holds no PEM certificate`. */
  readonly message: string;
}

type CertificatesOrFaults =
  | { readonly certificates: Certificates; readonly faults?: never }
  | { readonly certificates?: never; readonly faults: readonly CertificateFault[] };

/**
 * Reads a certificate, its key and the authorities beside it.
 *
 * A certificate that is not valid *yet* is accepted: it becomes valid without an edit, which would reload it.
 *
 * @param now Milliseconds since the epoch.
 * @param readFile Default: reads from the disk.
 */
export async function readCertificates(
  files: CertificateFiles,
  now: number,
  readFile: (file: string) => Promise<TextOrFault> = readText,
): Promise<CertificatesOrFaults> {
  const faults: CertificateFault[] = [];
  const [cert, key, ca] = await Promise.all([text('cert'), text('key'), text('ca')]);
  const [own] = certificatesIn('cert', cert);
  certificatesIn('ca', ca);
  const privateKey = key === undefined ? undefined : keyIn(key);
  if (own !== undefined && own.validToDate.getTime() <= now) {
    faults.push({ file: 'cert', message: `expired at ${own.validToDate.toISOString()}` });
  }
  if (own !== undefined && privateKey !== undefined && !own.checkPrivateKey(privateKey)) {
    faults.push({ file: 'key', message: 'is not the key of the certificate (the first one in its file)' });
  }
  if (own === undefined || cert === undefined || key === undefined || faults.length > 0) return { faults };
  try {
    // OpenSSL refuses more, such as keys that are too short.
    createSecureContext({ cert, key, ca: ca ?? [] });
  } catch (error) {
    return { faults: [{ file: 'cert', message: `cannot be used for TLS (${codeOf(error)})` }] };
  }
  return { certificates: { cert, key, ca, expiresAt: own.validToDate.getTime() } };

  async function text(file: keyof CertificateFiles): Promise<string | undefined> {
    const path = files[file];
    if (path === undefined) return undefined;
    const read = await readFile(path);
    if (read.text === undefined) faults.push({ file, message: read.fault ?? 'cannot be read' });
    return read.text;
  }

  function certificatesIn(file: 'cert' | 'ca', pem: string | undefined): readonly X509Certificate[] {
    if (pem === undefined) return [];
    try {
      const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
      if (blocks.length === 0) faults.push({ file, message: 'holds no PEM certificate' });
      return blocks.map((block) => new X509Certificate(block));
    } catch {
      faults.push({ file, message: 'holds a damaged certificate' });
      return [];
    }
  }

  function keyIn(pem: string): KeyObject | undefined {
    try {
      return createPrivateKey(pem);
    } catch {
      const message = pem.includes('ENCRYPTED')
        ? 'is encrypted: a key without passphrase is needed'
        : 'holds no PEM private key';
      faults.push({ file: 'key', message });
      return undefined;
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'not readable';
}
