import type { Address, AdminSettings, Config, ForwardAuth } from '../model/config.ts';
import type { Field } from './field.ts';
import { network } from './network.ts';
import { address, addressOrOff, adminToken, hostName } from './values.ts';

/** Who may ask where nothing is said: this machine, as RFC 1122 §3.2.1.3 and RFC 4291 §2.5.3 have it. */
const loopback: readonly string[] = ['127.0.0.0/8', '::1'];

/** `listen`, `admin` and `forward_auth`; what is wrong is reported to the fields. */
export function readAddresses(root: Field): Pick<Config, 'listen' | 'admin' | 'forwardAuth'> {
  const listen = root.get('listen').read(address) ?? { host: '127.0.0.1', port: 8080 };
  const admin = readAdmin(root.get('admin'));
  if (isSame(listen, admin?.listen)) {
    root.get(root.get('admin').present ? 'admin' : 'listen').refuse('listen and admin cannot share an address');
  }
  return { listen, admin, forwardAuth: readForwardAuth(root.get('forward_auth'), listen, admin?.listen) };
}

/** `admin`: an address, `off`, or a mapping with the address as `listen`. */
function readAdmin(field: Field): AdminSettings | undefined {
  const isMapping = field.entries().length > 0;
  const listen = (isMapping ? field.get('listen') : field).read(addressOrOff) ?? { host: '127.0.0.1', port: 9090 };
  const hosts = field.get('hosts').list(hostName);
  // An empty default (`${env:NAME:-}`) means none: the listener then refuses what needs the token.
  const token = field.get('token').isEmpty() ? undefined : field.get('token').read(adminToken);
  // The dot that ends an absolute name is taken off a Host too.
  return listen === 'off' ? undefined : { listen, hosts: hosts.map((host) => host.replace(/\.$/, '')), token };
}

function readForwardAuth(field: Field, listen: Address, admin: Address | undefined): ForwardAuth | undefined {
  const own = field.get('listen').read(address);
  if (own === undefined) return undefined;
  // Whoever reaches it chooses which request is decided on.
  if (isSame(own, listen)) field.get('listen').refuse('forward_auth and listen cannot share an address');
  if (isSame(own, admin)) field.get('listen').refuse('forward_auth and admin cannot share an address');
  const trusted = field.get('trusted');
  return { listen: own, trusted: trusted.present ? trusted.list(network) : loopback };
}

/** Port 0 is another one each time. */
function isSame(one: Address, other: Address | undefined): boolean {
  return one.port !== 0 && one.port === other?.port && one.host === other.host;
}
