import type { IncomingMessage } from 'node:http';
import { hopsBefore } from '../lib/http/header-fields.ts';
import { addressBlock, createIsWithin, loopbackNetworks, plainAddress } from '../lib/ip-address.ts';
import type { TokenBuckets } from '../lib/token-buckets.ts';
import { routes } from './routes.ts';

const MINUTE_MS = 60_000;

/**
 * Limits of what callers without a sign-in make the front door remember, for each address. An office may share one
 * address.
 */
const rates = new Map([
  [routes.authorization, { requests: 60, perMs: MINUTE_MS, burst: 300 }],
  [routes.end_session, { requests: 60, perMs: MINUTE_MS, burst: 300 }],
  [routes.registration, { requests: 2, perMs: MINUTE_MS, burst: 100 }],
] as const);

/** A /48 of IPv6 has 65,536 networks, and often one subscriber. It may have as much as this number of networks. */
const NETWORKS_OF_48 = 10;

/** The number of addresses whose requests are counted. */
export const MAX_ADDRESSES = 50_000;

/** Bounds what one address makes the front door remember. */
export interface Admission {
  /** The client's address, as trusted proxies report it; of IPv6 its network. */
  addressOf(request: IncomingMessage): string;
  /** 0 if a request may pass, or the milliseconds until one may. */
  waitMs(request: IncomingMessage, path: string): number;
}

/**
 * Creates the admission. A peer on this machine is a proxy: the gateway leads callers here by a public route.
 *
 * @param buckets Those of all configurations, so that a reload fills none.
 */
export function createAdmission(buckets: TokenBuckets, trustedProxies: readonly string[]): Admission {
  const isTrusted = createIsWithin([...loopbackNetworks, ...trustedProxies]);

  function addressOf({ socket, headers }: IncomingMessage): string {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const [client = peer] = isTrusted(peer)
      ? hopsBefore(peer, [headers['x-forwarded-for'] ?? []].flat().join(','), isTrusted)
      : [];
    return addressBlock(client);
  }

  return {
    addressOf,
    waitMs(request, path) {
      const [route, rate] = [...rates].find(([each]) => each === path) ?? [];
      // Another method is refused, and makes nothing remembered.
      if (route === undefined || rate === undefined || request.method === 'OPTIONS') return 0;
      const block = addressOf(request);
      const waitMs = buckets.take(`${route} ${block}`, rate);
      const [, wider] = /^(\w+:\w+:\w+):\w+::\/64$/.exec(block) ?? [];
      if (waitMs > 0 || wider === undefined) return waitMs;
      const { requests, perMs, burst } = rate;
      const ofWider = { requests: requests * NETWORKS_OF_48, perMs, burst: burst * NETWORKS_OF_48 };
      return buckets.take(`${route} ${wider}::/48`, ofWider);
    },
  };
}
