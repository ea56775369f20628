import type { IncomingMessage } from 'node:http';
import { isSameSecret } from '../core/lib/digest.ts';
import { hopsBefore } from '../core/lib/http/header-fields.ts';
import { percentDecoded } from '../core/lib/http/path-flaw.ts';
import { addressBlock, createIsWithin, loopbackNetworks, plainAddress } from '../core/lib/ip-address.ts';
import type { TokenBuckets } from '../core/lib/token-buckets.ts';
import type { FrontDoor, FrontDoorLimits } from '../ports/front-door.ts';
import { GATEWAY_CLIENT } from './client-policy.ts';
import { routes } from './routes.ts';

/** A limit by the name of its key in `front_door.limits`. */
type LimitName = keyof FrontDoorLimits;

/** A /48 of IPv6 has 65,536 networks, and often one subscriber. It may have as much as this number of networks. */
const NETWORKS_OF_48 = 10;

/** The number of buckets: one for each address and limit. */
export const MAX_BUCKETS = 100_000;

/** Bounds what one address makes the front door compute and remember. */
export interface Admission {
  /** The client's address, as trusted proxies report it; of IPv6 its network. */
  addressOf(request: IncomingMessage): string;
  /** The party that what is kept for a request counts for: the client's address, and of IPv6 the /48 that it is in. */
  networkOf(request: IncomingMessage): string;
  /** The limit that a request exceeds, and the milliseconds until one may pass; undefined for one that may pass. */
  excess(request: IncomingMessage, path: string): Excess | undefined;
}

/** An exceeded limit. */
export interface Excess {
  readonly limit: LimitName;
  readonly waitMs: number;
}

/**
 * Creates the admission. A peer on this machine is a proxy: the gateway leads callers here by a public route.
 *
 * @param buckets Those of all configurations, so that a reload fills none.
 */
export function createAdmission(
  { limits, gatewaySecret }: Pick<FrontDoor, 'limits' | 'gatewaySecret'>,
  trustedProxies: readonly string[],
  buckets: TokenBuckets,
): Admission {
  const isTrusted = createIsWithin([...loopbackNetworks, ...trustedProxies]);

  function addressOf({ socket, headers }: IncomingMessage): string {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const [client = peer] = isTrusted(peer)
      ? hopsBefore(peer, [headers['x-forwarded-for'] ?? []].flat().join(','), isTrusted)
      : [];
    return addressBlock(client);
  }

  /** The gateway introspects for all its callers: their number is no reason to refuse them. */
  function isGateway({ headers: { authorization = '' } }: IncomingMessage): boolean {
    const [, encoded = ''] = /^basic +([\w+/=-]+)$/i.exec(authorization) ?? [];
    const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':', 2);
    return id === GATEWAY_CLIENT && isSameSecret(percentDecoded(secret) ?? '', gatewaySecret);
  }

  return {
    addressOf,
    networkOf(request) {
      const block = addressOf(request);
      return widerOf(block) ?? block;
    },
    excess(request, path) {
      // A preflight is answered by its headers, and makes nothing remembered.
      if (request.method === 'OPTIONS') return undefined;
      const limit = limitOf(path, request.method);
      const rate = limits[limit];
      if (rate === undefined || (path === routes.introspection && isGateway(request))) return undefined;
      const block = addressOf(request);
      const waitMs = buckets.take(`${limit} ${block}`, rate);
      if (waitMs > 0) return { limit, waitMs };
      const wider = widerOf(block);
      if (wider === undefined) return undefined;
      const { requests, perMs, burst } = rate;
      const ofWider = { requests: requests * NETWORKS_OF_48, perMs, burst: burst * NETWORKS_OF_48 };
      const widerMs = buckets.take(`${limit} ${wider}`, ofWider);
      return widerMs > 0 ? { limit, waitMs: widerMs } : undefined;
    },
  };
}

/** The /48 that a /64 of IPv6 is in. */
function widerOf(block: string): string | undefined {
  const [, wider] = /^(\w+:\w+:\w+):\w+::\/64$/.exec(block) ?? [];
  return wider && `${wider}::/48`;
}

const beginsSignIn: ReadonlySet<string> = new Set([
  routes.authorization,
  // A device's request begins a sign-in too.
  routes.device_authorization,
  routes.end_session,
]);

function limitOf(path: string, method: string | undefined): LimitName {
  // The page of codes begins a session, as that of a sign-out does.
  if (beginsSignIn.has(path) || (path === routes.code_verification && method !== 'POST')) return 'sign_ins';
  return path === routes.registration ? 'registrations' : 'requests';
}
