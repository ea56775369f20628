import { loopbackHostPattern } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';

const loopbackOrigin = new RegExp(`^https?://${loopbackHostPattern}(?::[0-9]{1,5})?$`);

/** The hosts and origins of a configuration. */
export interface AllowLists {
  /** Host names of the gateway, without port, in lower case. A request for another name may come from DNS rebinding. */
  readonly allowedHosts: ReadonlySet<string>;
  /** Origins, RFC 6454 §6.2, of pages that may call. Loopback origins of any port may call too. */
  readonly allowedOrigins: ReadonlySet<string>;
}

/** The hosts and origins that a request may name. */
export interface Allowed {
  /**
   * Requires a `Host` of the gateway and an allowed `Origin`, MCP Streamable HTTP §Security.
   *
   * @throws {Denial} `request.host` for another name: DNS rebinding makes a page with that name same-origin
   *   with the gateway. `request.origin` for a page of another origin, `null` included.
   */
  readonly require: (call: Call) => void;
  /** As {@link Allowed.require}, for a route that pages of every origin may call. */
  readonly requireHost: (call: Call) => void;
  /** Whether pages of `origin` may call the gateway and read its answers. */
  readonly origin: (origin: string) => boolean;
}

/** Creates the allow-lists of a configuration. */
export function createAllowed({ allowedHosts, allowedOrigins }: AllowLists): Allowed {
  const patterns = [...allowedOrigins].filter((origin) => origin.includes('*'));
  const matches = patterns.length === 0 ? undefined : patternOf(patterns);
  const isAllowed = (origin: string): boolean =>
    allowedOrigins.has(origin) || loopbackOrigin.test(origin) || matches?.test(origin) === true;
  // The last allowed `Host`: nearly every request has the same one.
  let known: string | undefined;

  function requireHost({ fields: { host } }: Call): void {
    if (host === undefined || (host !== known && !allowedHosts.has(hostName(host)))) {
      throw new Denial('request.host', `Host ${JSON.stringify(host?.slice(0, 128))} is not among allowed_hosts`);
    }
    known = host;
  }

  return {
    requireHost,
    require(call) {
      requireHost(call);
      const { origin } = call.fields;
      if (origin !== undefined && !isAllowed(origin)) {
        throw new Denial(
          'request.origin',
          `Origin ${JSON.stringify(origin.slice(0, 128))} is not among allowed_origins`,
        );
      }
    },
    origin: isAllowed,
  };
}

/** `https://*.example.com` is one or more whole labels before that name, `SCHEME://*` any host of the scheme. */
function patternOf(origins: readonly string[]): RegExp {
  const alternatives = origins.map((origin) => {
    const [before, after = ''] = origin.split('*', 2).map((part) => part.replaceAll(/[.+]/g, String.raw`\$&`));
    return `${before}${after === '' ? '[^/?#@\\s]+' : `${LABEL}(?:\\.${LABEL})*${after}`}`;
  });
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}

/** As browsers write a label in an `Origin`: in lower case, international ones in Punycode. */
const LABEL = '[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?';

/** The name in a `Host` header in lower case, without its port, RFC 9110 §7.2. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:[0-9]*$/, '');
}
