import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Tls } from '../../src/model/config.ts';

/** The path of a certificate of the tests, or of its key: `server`, `server-key`. */
export function certificate(name: string): string {
  return fileURLToPath(new URL(`certificates/${name}.pem`, import.meta.url));
}

/** Its text. */
export function pem(name: string): string {
  return readFileSync(certificate(name), 'utf8');
}

/** The certificate itself. */
export function x509(name: string): X509Certificate {
  return new X509Certificate(pem(name));
}

/** The line of gateway.yaml that serves https as `server`. `more`: `, client_ca: any`. */
export function tlsLine(more = ''): string {
  return `tls: { cert: ${certificate('server')}, key: ${certificate('server-key')}${more} }\n`;
}

/** The same, as the loader gives it. */
export function tlsFiles(clientCa?: string): Tls {
  return { cert: certificate('server'), key: certificate('server-key'), clientCa };
}
