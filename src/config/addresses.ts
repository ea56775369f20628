import { isIPv4, isIPv6 } from 'node:net';
import { addressBits, isMappedIPv4 } from '../lib/ip-address.ts';
import type { Address, AdminSettings, Config, ForwardAuth } from '../model/config.ts';
import type { GatewayKeys } from '../../schema/validators.js';
import type { Field } from './field.ts';
import { adminToken, reject } from './values.ts';

/** `listen`, `admin` and `forward_auth`. Problems are reported to the fields. */
export function readAddresses(root: Field<GatewayKeys>): Pick<Config, 'listen' | 'admin' | 'forwardAuth'> {
  const listen = root.get('listen').read(address);
  const admin = readAdmin(root.get('admin'));
  if (isSame(listen, admin?.listen)) {
    root.get(root.get('admin').present ? 'admin' : 'listen').addProblem('listen and admin cannot share an address');
  }
  return { listen, admin, forwardAuth: readForwardAuth(root.get('forward_auth'), listen, admin?.listen) };
}

/** `admin`: an address, `off`, or a mapping with the address as `listen`. */
function readAdmin(field: Field<GatewayKeys['admin']>): AdminSettings | undefined {
  const isMapping = field.entries().length > 0;
  const listen = isMapping ? (field.get('listen').read(addressOrOff) ?? 'off') : field.read(addressOrOff);
  const hosts = field.get('hosts').list(hostName);
  // An empty default (`${env:NAME:-}`) means none: the listener then refuses what needs the token.
  const token = field.get('token').isEmpty() ? undefined : field.get('token').read(adminToken);
  // The listener removes the dot that ends an absolute name from a Host header too.
  return listen === 'off' ? undefined : { listen, hosts: hosts.map((host) => host.replace(/\.$/, '')), token };
}

function readForwardAuth(
  field: Field<GatewayKeys['forward_auth']>,
  listen: Address,
  admin: Address | undefined,
): ForwardAuth | undefined {
  const own = field.get('listen').read(address);
  if (own === undefined) return undefined;
  // A caller of this listener chooses the request that the gateway decides on.
  if (isSame(own, listen)) field.get('listen').addProblem('forward_auth and listen cannot share an address');
  if (isSame(own, admin)) field.get('listen').addProblem('forward_auth and admin cannot share an address');
  return { listen: own, trusted: field.get('trusted').list(network) };
}

/** The system chooses another port for each port 0. */
function isSame(one: Address, other: Address | undefined): boolean {
  return one.port !== 0 && one.port === other?.port && one.host === other.host;
}

/** `host:port`, where an IPv6 host is in brackets. */
export function address(text: string): Address {
  return parseAddress(text) ?? reject('is not an address such as 127.0.0.1:8080');
}

/** {@link address}, or `off`. */
function addressOrOff(text: string): Address | 'off' {
  if (text === 'off') return text;
  return parseAddress(text) ?? reject('is neither an address such as 127.0.0.1:9090 nor off');
}

/** The parts of an address such as `127.0.0.1:8080`; undefined for any other text. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return undefined;
  return bracketed === undefined || isIPv6(bracketed) ? { host, port } : undefined;
}

/** A host as in a Host header, without a port. */
export function hostName(text: string): string {
  const host = text.toLowerCase();
  if (/^[a-z0-9._-]+$/.test(host)) return host;
  if (host.startsWith('[') && host.endsWith(']') && isIPv6(host.slice(1, -1))) return host;
  return reject('is not a host name without port');
}

/** An address, or a network in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3), in lower case. */
export function network(text: string): string {
  const [address = '', prefix, ...rest] = text.toLowerCase().split('/');
  const size = isIPv4(address) ? 32 : 128;
  if (rest.length > 0 || !(isIPv4(address) || (isIPv6(address) && !address.includes('%')))) {
    reject('is neither an address nor a network such as 10.0.0.0/8');
  }
  // Peers are compared in the form of IPv4, however the socket gives them.
  if (size === 128 && isMappedIPv4(addressBits(address))) reject('is an IPv4 address: write it in dotted form');
  if (prefix === undefined) return address;
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > size)
    reject(`has a prefix length that is not 0 to ${size}`);
  // `10.1.2.3/8`: one address or sixteen million? The gateway does not guess what to trust.
  if ((addressBits(address) & ((1n << BigInt(size - Number(prefix))) - 1n)) !== 0n) {
    reject('has bits beyond its prefix: write the address of the network, or the address without a prefix');
  }
  return `${address}/${prefix}`;
}
