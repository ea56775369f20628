import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Tls } from '../../src/core/model/listen.ts';

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

/** The options of a client that trusts the certificates of the tests, and shows the certificate of `name`, if any. */
export function asClient(name?: string): { ca: string; cert?: string; key?: string } {
  return { ca: pem('ca'), ...(name !== undefined && { cert: pem(name), key: pem(`${name}-key`) }) };
}

/** The status of one request over TLS by such a client. */
export async function statusFor(name: string | undefined, url: string, options: RequestOptions, body = '') {
  const sent = request(url, { ...asClient(name), agent: false, ...options }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** The line of gateway.yaml that serves https as `server`. `more`: `, client_ca: any`. */
export function tlsLine(more = ''): string {
  return `tls: { cert: ${certificate('server')}, key: ${certificate('server-key')}${more} }\n`;
}

/** The same, as the loader gives it. */
export function tlsFiles(clientCa?: string): Tls {
  return { cert: certificate('server'), key: certificate('server-key'), clientCa };
}
