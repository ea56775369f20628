import { connect, type TLSSocket } from 'node:tls';
import { reasonOf } from '../../lib/wording.ts';
import { readCertificates } from '../../lib/certificate-files.ts';
import type { Config } from '../../model/config.ts';
import { type Finding, type Findings, findingsOn } from './finding.ts';

const DAY_MS = 24 * 3_600_000;
/** Certificates of automatic authorities are renewed about 30 days before their end. */
const SOON_MS = 14 * DAY_MS;
const TIMEOUT_MS = 5000;

/** Examines the gateway's own certificate, and those of each https server that it or its clients call. */
export async function examineCertificates(config: Config, now: number): Promise<readonly Finding[]> {
  const remote = await Promise.all(
    [...httpsOrigins(config)].map(([origin, subject]) => examineRemote(origin, subject, now)),
  );
  return [...(await examineOwn(config, now)), ...remote.flat()];
}

async function examineOwn({ tls }: Config, now: number): Promise<readonly Finding[]> {
  if (tls === undefined) return [];
  const on = findingsOn('tls');
  const ca = tls.clientCa === 'any' ? undefined : tls.clientCa;
  const { certificates, faults = [] } = await readCertificates({ cert: tls.cert, key: tls.key, ca }, now);
  if (certificates !== undefined) return [endOf(on, 'the certificate', certificates.expiresAt, now)];
  return faults.map(({ file, message }) =>
    on.fail(`the file of ${file} ${message}`, 'replace the file; no restart is needed'),
  );
}

/** Each https origin, with the key of the configuration that names it. */
function httpsOrigins({ publicUrl, authorizationServers, routes }: Config): ReadonlyMap<string, string> {
  const named = [
    ...routes.map(({ name, upstream }) => [upstream.origin, `routes.${name}.upstream`] as const),
    ...[...authorizationServers].map(
      ([name, { backchannel }]) => [new URL(backchannel).origin, `authorization_servers.${name}`] as const,
    ),
    [publicUrl, 'public_url'] as const,
  ];
  return new Map(named.filter(([origin]) => origin.startsWith('https:')));
}

async function examineRemote(origin: string, subject: string, now: number): Promise<readonly Finding[]> {
  const on = findingsOn(subject);
  const socket = await secured(new URL(origin));
  // The examination of the server itself says that it cannot be reached.
  if (socket === undefined) return [];
  const { authorized, authorizationError } = socket;
  const { valid_to: end } = socket.getPeerCertificate();
  socket.destroy();
  if (authorized) return [endOf(on, `the certificate of ${origin}`, Date.parse(end), now)];
  return [
    on.fail(
      `the certificate of ${origin} is not trusted: ${reasonOf(authorizationError)}`,
      'repair it, or set NODE_EXTRA_CA_CERTS to its authority',
    ),
  ];
}

/** A connection with a TLS handshake, whatever its certificate; undefined if there is none in time. */
function secured({ hostname, port }: URL): Promise<TLSSocket | undefined> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port === '' ? 443 : port),
      ...(/[a-z]/i.test(host) && !host.includes(':') && { servername: host }),
      // Examined instead of refused. Nothing is sent over this connection.
      rejectUnauthorized: false,
    });
    const fail = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.setTimeout(TIMEOUT_MS, fail);
    socket.on('error', fail);
    socket.on('secureConnect', () => resolve(socket));
  });
}

function endOf(on: Findings, what: string, expiresAt: number, now: number): Finding {
  const until = `${what} is valid until ${new Date(expiresAt).toISOString().slice(0, 10)}`;
  if (expiresAt - now > SOON_MS) return on.ok(until);
  return on.warn(`${until}, in ${Math.floor((expiresAt - now) / DAY_MS)} days`, 'renew it');
}
