import { lookup as lookupHost } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../core/lib/clock.ts';
import { createExpiringCache } from '../core/lib/expiring-cache.ts';
import { createQuota } from '../core/lib/fair-share.ts';
import { boundedBytes } from '../core/lib/http/bodies.ts';
import { isLed, openRequest } from '../ports/own-requests.ts';
import { createIsWithin, plainAddress } from '../core/lib/ip-address.ts';
import { messageOf } from '../core/lib/wording.ts';

/** The limit on an answer; oidc-provider bounds a metadata document further. */
const MAX_BYTES = 64 * 1024;
/** The life of any cached answer, failures too: a request for a sign-in must not cause a request each time. */
const KEPT_MS = 60_000;
/** That of an answer at a URL of the operator: a client that was just set up must not wait for a minute. */
const KEPT_TRUSTED_MS = 5_000;
const MAX_KEPT = 200;
/** The limits on fetches in flight. A host that answers slowly holds a part of them. */
const MAX_IN_FLIGHT = 32;
const MAX_IN_FLIGHT_OF_HOST = 4;
const TIMEOUT_MS = 5_000;

type FetchOutcome =
  | { readonly status: number; readonly headers: Headers; readonly body: Buffer }
  | { readonly fault: string };

/** The parts of a fetch, which tests replace. */
export interface DocumentFetchParts {
  /** Networks, besides public addresses, that documents may come from. */
  readonly allowed: readonly string[];
  /** URLs that the operator chose: any address counts there, and http too. */
  readonly trusted?: ReadonlySet<string>;
  readonly clock: Clock;
  /** Trusted besides Node's own authorities. */
  readonly ca?: string | undefined;
}

/**
 * Creates the `fetch` by which oidc-provider reads what clients publish. It reads https URLs only, follows no redirect,
 * and connects to the very address that it looked up and found to be public. Otherwise a client could make the front
 * door send requests into the operator's network (SSRF). A proxy for own requests looks names up in its place.
 */
export function createDocumentFetch({ allowed, trusted, clock, ca }: DocumentFetchParts): typeof fetch {
  const isAllowed = createIsWithin(allowed);
  const kept = createExpiringCache<Promise<FetchOutcome>>(MAX_KEPT, clock);
  const inFlight = createQuota(MAX_IN_FLIGHT, MAX_IN_FLIGHT_OF_HOST);

  async function addressOf(host: string): Promise<string> {
    const plain = host.replace(/^\[|\]$/g, '');
    const addresses =
      isIP(plain) === 0 ? (await lookupHost(plain, { all: true })).map(({ address }) => address) : [plain];
    const [first] = addresses;
    if (first === undefined) throw new Error('the host has no address');
    // One private address is enough to refuse: the next connection could choose it.
    if (!addresses.every((address) => isPublic(address) || isAllowed(plainAddress(address)))) {
      throw new Error('the host has an address that is not public');
    }
    return first;
  }

  async function outcomeOf(url: URL): Promise<FetchOutcome> {
    try {
      if (trusted?.has(url.href) === true) return await read(url, undefined, ca);
      if (url.protocol !== 'https:') throw new Error('not an https URL');
      const isForProxy = isLed(url) && isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0;
      return await read(url, isForProxy ? undefined : await addressOf(url.hostname), ca);
    } catch (error) {
      return { fault: messageOf(error) };
    } finally {
      inFlight.give(url.hostname, 1);
    }
  }

  /** Shared by requests at the same time. A use does not lengthen it: a document may change, a fault may pass. */
  function outcomeOnce(url: URL): Promise<FetchOutcome> {
    const cached = kept.get(url.href);
    if (cached !== undefined) return cached;
    // Not kept: the next request may find room.
    if (!inFlight.take(url.hostname, 1))
      return Promise.resolve({ fault: 'too many documents are being fetched: try again' });
    const outcome = outcomeOf(url);
    kept.set(url.href, outcome, clock() + (trusted?.has(url.href) === true ? KEPT_TRUSTED_MS : KEPT_MS));
    return outcome;
  }

  return async (input) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const outcome = await outcomeOnce(url);
    if ('fault' in outcome) throw new TypeError(`${url.origin}: ${outcome.fault}`);
    // A status without a body, such as 304, cannot be answered with one.
    const { status, headers, body } = outcome;
    return new Response(status === 200 ? body : null, { status, headers });
  };
}

/** @param address The only one to connect to; undefined: whatever the name leads to. */
async function read(url: URL, address: string | undefined, ca: string | undefined): Promise<FetchOutcome> {
  const request = openRequest(url, {
    ...(address !== undefined && { lookup: lookupAt(address) }),
    agent: false,
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(ca !== undefined && { ca }),
  });
  // A failure after the answer has begun ends its body too.
  request.on('error', () => {});
  try {
    const [response] = (await once(request.end(), 'response')) as [IncomingMessage];
    const body = await boundedBytes(response, MAX_BYTES, () => new Error('the answer is too long'));
    const headers = new Headers();
    for (const name of ['content-type', 'cache-control', 'expires']) {
      const value = response.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const { statusCode = 0 } = response;
    // Response takes no informational status.
    return { status: statusCode < 200 ? 502 : statusCode, headers, body };
  } finally {
    request.destroy();
  }
}

function lookupAt(address: string): LookupFunction {
  return (_host, options, done) => {
    const family = isIP(address);
    if (options.all === true) done(null, [{ address, family }]);
    else done(null, address, family);
  };
}

/** IPv4 addresses that are not public, by the IANA registry of special-purpose addresses. */
const special = createIsWithin([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Within global unicast: protocol assignments with Teredo, documentation, 6to4.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
]);
/** Global unicast, RFC 4291 §2.4. */
const globalUnicast = createIsWithin(['2000::/3']);

function isPublic(address: string): boolean {
  const plain = plainAddress(address);
  return !special(plain) && (isIP(plain) === 4 || globalUnicast(plain));
}
