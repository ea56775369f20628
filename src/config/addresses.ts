import type { Address, Config, ForwardAuth } from '../model/config.ts';
import type { Field } from './field.ts';
import { network } from './network.ts';
import { address, addressOrOff } from './values.ts';

/** Who may ask where nothing is said: this machine, as RFC 1122 §3.2.1.3 and RFC 4291 §2.5.3 have it. */
const loopback: readonly string[] = ['127.0.0.0/8', '::1'];

/** `listen`, `admin` and `forward_auth`; what is wrong is reported to the fields. */
export function readAddresses(root: Field): Pick<Config, 'listen' | 'admin' | 'forwardAuth'> {
  const listen = root.get('listen').read(address) ?? { host: '127.0.0.1', port: 8080 };
  const read = root.get('admin').read(addressOrOff) ?? { host: '127.0.0.1', port: 9090 };
  const admin = read === 'off' ? undefined : read;
  if (isSame(listen, admin)) {
    root.get(root.get('admin').present ? 'admin' : 'listen').refuse('listen and admin cannot share an address');
  }
  return { listen, admin, forwardAuth: readForwardAuth(root.get('forward_auth'), listen, admin) };
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
