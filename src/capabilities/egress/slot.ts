import { Slot } from '../../core/model/slot.ts';

/** `egress`. */
export interface EgressSettings {
  /** The http(s) URL of the proxy, with its credentials. */
  readonly proxy: URL;
  /** Targets that are reached directly: a name, `.name` for all below it, an address or a network. */
  readonly except: readonly string[];
  /** Authorities besides those of the system, as PEM. */
  readonly ca: string | undefined;
}

/** `egress`; undefined: the environment says whether there is a proxy. */
export const egressSettings = new Slot<EgressSettings>();
