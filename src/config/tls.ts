import { resolve } from 'node:path';
import { readCertificates, type CertificateFiles } from '../lib/certificate-files.ts';
import type { Tls } from '../model/config.ts';
import type { GatewayKeys } from '../../schema/validators.js';
import type { Field } from './field.ts';
import type { Files } from './files.ts';

/** The key of each file. */
const keys: Readonly<Record<keyof CertificateFiles, 'cert' | 'key' | 'client_ca'>> = {
  cert: 'cert',
  key: 'key',
  ca: 'client_ca',
};

/** `tls`, or undefined without it. */
export interface ReadTls {
  readonly tls: Tls | undefined;
  /** The files that were read. */
  readonly files: readonly string[];
}

/**
 * Reads `tls` and checks its files. Otherwise the first client would find that one is missing, damaged, expired or does
 * not fit.
 *
 * @param folder Relative paths start here.
 */
export async function readTls(root: Field<GatewayKeys>, folder: string, read: Files): Promise<ReadTls> {
  const field = root.get('tls');
  if (!field.present) return { tls: undefined, files: [] };
  const publicUrl = root.get('public_url');
  // The listener speaks only TLS: http URLs that the gateway publishes would not work.
  if (publicUrl.text()?.startsWith('http:') === true)
    publicUrl.addProblem(`${publicUrl.quoted()} is not https, which tls requires`);
  const [cert, key] = [path(field.get('cert')), path(field.get('key'))];
  const clientCa = field.get('client_ca').text() === 'any' ? 'any' : path(field.get('client_ca'));
  if (cert === undefined || key === undefined) return { tls: undefined, files: [] };
  const ca = clientCa === 'any' ? undefined : clientCa;
  const { faults = [] } = await readCertificates({ cert, key, ca }, read.at, read.text);
  for (const { file, message } of faults) {
    const part = field.get(keys[file]);
    part.addProblem(`${part.quoted()} ${message}`);
  }
  const files = [cert, key, ...(ca === undefined ? [] : [ca])];
  return { tls: { cert, key, clientCa }, files };

  function path(part: Field): string | undefined {
    const text = part.text();
    return text === undefined ? undefined : resolve(folder, text);
  }
}
