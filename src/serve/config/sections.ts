import type { AdminSettings, Config } from '../../ports/config.ts';
import type { Address, Tls } from '../../core/model/listen.ts';
import type { CallerRateKeys, GatewayKeys, RateKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { isSameAddress, parseAddress, reject } from '../../core/config/values.ts';
import type { CallerRate, Rate } from '../../core/model/endpoint.ts';
import { resolve } from 'node:path';
import type { CertificateFiles } from './certificate-files.ts';
import type { Files } from '../../core/config/files.ts';

/** `listen` and `admin`. Problems are reported to the fields. */
export function readAddresses(root: Field<GatewayKeys>): Pick<Config, 'listen' | 'admin'> {
  const listen = root.get('listen').value();
  const admin = readAdmin(root.get('admin'));
  if (isSameAddress(listen, admin?.listen)) {
    root.get(root.get('admin').present ? 'admin' : 'listen').addProblem('listen and admin cannot share an address');
  }
  return { listen, admin };
}

/** `admin`: an address, `off`, or a mapping with the address as `listen`. */
export function readAdmin(field: Field<GatewayKeys['admin']>): AdminSettings | undefined {
  const isMapping = field.entries().length > 0;
  const listen = isMapping ? (field.get('listen').read(addressOrOff) ?? 'off') : field.read(addressOrOff);
  const hosts = field.get('hosts').value();
  // An empty default (`${env:NAME:-}`) means none: the listener then refuses what needs the token.
  const token = field.get('token').isEmpty() ? undefined : field.get('token').value();
  // The listener removes the dot that ends an absolute name from a Host header too.
  return listen === 'off' ? undefined : { listen, hosts: hosts.map((host) => host.replace(/\.$/, '')), token };
}

/** An address, or `off`. */
function addressOrOff(text: string): Address | 'off' {
  if (text === 'off') return text;
  return parseAddress(text) ?? reject('is neither an address such as 127.0.0.1:9090 nor off');
}

/** `limits`, except the default rate of routes. */
export function readLimits(field: Field<GatewayKeys['limits']>): Config['limits'] {
  const { jsonDepth: depth, jsonMembers: members, ...settings } = field.settings();
  return { ...settings, json: { depth, members }, failures: readRate(field.get('failures')) };
}

/** A rate; undefined for `off`. */
export function readRate(field: Field<RateKeys | undefined>): Rate | undefined {
  if (field.entries().length === 0) {
    field.read((text) =>
      text === 'off' ? text : reject('is neither off nor a rate such as { requests: 100, per: 1s }'),
    );
    return undefined;
  }
  const rate = field.settings();
  return rate && { ...rate, burst: rate.burst ?? rate.requests };
}

/** A rate of callers; undefined for `off`. */
export function readCallerRate(field: Field<CallerRateKeys | undefined>): CallerRate | undefined {
  const rate = readRate(field);
  return rate && { ...rate, by: field.get('by').value() };
}

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
  const { readCertificates } = await import('./certificate-files.ts');
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
