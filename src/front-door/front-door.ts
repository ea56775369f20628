/**
 * The front door: an OAuth authorization server for MCP clients, where people sign in at an identity provider. It is
 * built on `oidc-provider` towards clients and on `openid-client` towards providers. Read this file first.
 *
 * | question                                      | file                                             |
 * | --------------------------------------------- | ------------------------------------------------ |
 * | how oidc-provider is configured               | `provider.ts`                                    |
 * | which clients there are, what they may be     | `client-policy.ts`, `clients.ts`                 |
 * | how metadata documents are fetched            | `document-fetch.ts`                              |
 * | when people are asked, and what they see      | `interactions.ts`, `pages.ts`                    |
 * | how a person is sent to a provider, and back  | `sign-ins.ts`, `identity-provider.ts`, `callback.ts` |
 * | how a provider or an issuer is discovered     | `issuer-discovery.ts`                            |
 * | what tokens say                               | `people.ts`, `scope-rules.ts`, `resources.ts`    |
 * | what is stored, where, and how much           | `adapter.ts`, `store.ts`, `keys.ts`              |
 * | how a company vouches for a person           | `assertions.ts`                                  |
 * | how people approve calls                      | `approvals.ts`, `approval-page.ts`               |
 * | how often an address may begin                | `admission.ts`                                   |
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/lib/clock.ts';
import { createTokenBuckets } from '../core/lib/token-buckets.ts';
import type { Config } from '../ports/config.ts';
import type { FrontDoorRevocations } from '../ports/revocation.ts';
import { LONG_COMMAND_MS, type LogStore, type OpenStore } from '../ports/store.ts';
import { RevokedTokenAnnouncements } from './announcements.ts';
import type { FrontDoor } from '../ports/front-door.ts';
import type { FrontDoorObserver } from './observer.ts';
import { http, type Listening, startListener } from '../core/lib/http/node-http.ts';
import { MAX_BUCKETS } from './admission.ts';
import { createDocumentFetch } from './document-fetch.ts';
import { createHandler, type Handler } from './handler.ts';
import { createKeys, readSecret } from './keys.ts';
import { createMemoryStore } from './memory-store.ts';
import { createSharedStore } from './shared-store.ts';
import type { Store } from './store.ts';

/** The parts of a front door besides its configuration. Tests replace the optional ones. */
export interface FrontDoorParts {
  readonly observer: FrontDoorObserver;
  /**
   * Called with the SHA-256 (base64url) of each access token that ends before it expires. Gateways on the shared store
   * learn of it by themselves.
   */
  readonly onRevoked: (tokens: readonly string[]) => void;
  /** Called for a failure that is a bug. */
  readonly onBug: (error: unknown) => void;
  /** Logs changes of the shared store. */
  readonly log: LogStore;
  /** Opens the shared store, where one is configured. */
  readonly openStore: OpenStore;
  readonly clock?: Clock;
  /** Certificate authorities, besides Node's own, for metadata documents. */
  readonly ca?: string;
  /** Whose rights ended; undefined without `revocation`. */
  readonly revocations?: FrontDoorRevocations | undefined;
}

/** A running front door. */
export interface RunningFrontDoor {
  readonly url: string;
  /** Answers by `config` from the next request on. The address stays. */
  reload(config: Config): void;
  close(): Promise<void>;
}

const KEY_CHECK_MS = 10 * 60_000;
const REQUEST_MS = 15_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long requests may take once it closes. */
const GRACE_MS = 2_000;

/**
 * Starts the front door of `config`.
 *
 * @throws {KeysFault} if the file of `front_door.keys` cannot be used, and the system's error if the address cannot be
 *   listened on.
 */
export async function startFrontDoor(config: Config, parts: FrontDoorParts): Promise<RunningFrontDoor> {
  const { clock = Date.now } = parts;
  const first = required(config);
  const keys = createKeys(await readSecret(first.keys, config.sessionKey), clock);
  const store = await openRecords(config, parts, clock);
  const announcements = new RevokedTokenAnnouncements((digests) => store.publishRevoked(digests));
  const buckets = createTokenBuckets(MAX_BUCKETS, clock);
  let current = config;
  let keyOfDay = keys.signing()[0]?.kid;
  let handler = handlerOf(config);

  function handlerOf(next: Config): Handler {
    const frontDoor = required(next);
    const { documentAddresses: allowed, registered } = frontDoor.clients;
    const trusted = new Set(
      [...registered.values()].flatMap(({ jwksUri }) => (jwksUri === undefined ? [] : [new URL(jwksUri).href])),
    );
    const fetchDocument = createDocumentFetch({ allowed, trusted, clock, ca: parts.ca });
    return createHandler(next, frontDoor, { ...parts, store, keys, clock, buckets, fetch: fetchDocument, onRevoked });
  }

  async function onRevoked(tokens: readonly string[]): Promise<void> {
    parts.onRevoked(tokens);
    await announcements.announce(tokens);
  }

  function use(next: Config): void {
    handler = handlerOf(next);
    current = next;
    keyOfDay = keys.signing()[0]?.kid;
  }

  const rotation = setInterval(() => {
    // oidc-provider takes its keys when it is made. All state is in the store, so a new one continues.
    if (keys.signing()[0]?.kid !== keyOfDay) use(current);
  }, KEY_CHECK_MS).unref();
  const server = http.createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: MAX_HEADER_BYTES },
    (request, response) => handler(request, response),
  );
  let listener: Listening;
  try {
    // In plain HTTP: a proxy, or a public route of the gateway, leads clients here.
    listener = await startListener(server, first.listen, GRACE_MS);
  } catch (error) {
    clearInterval(rotation);
    await store.close();
    throw error;
  }
  return {
    url: listener.url,
    reload: use,
    async close() {
      clearInterval(rotation);
      await listener.close();
      announcements.close();
      await store.close();
    },
  };
}

/** The wait for the shared store at the start; later requests are refused while it does not answer. */
const STORE_WAIT_MS = 2_000;
const STORE_RETRY_MS = 50;

async function openRecords(
  { shared, sessionKey }: Config,
  { log, openStore }: FrontDoorParts,
  clock: Clock,
): Promise<Store> {
  if (shared === undefined || sessionKey === undefined) return createMemoryStore(clock);
  const records = await openStore(shared, { sessionKey, clock, log, commandMs: LONG_COMMAND_MS });
  const store = createSharedStore(records, { log, clock });
  const end = performance.now() + STORE_WAIT_MS;
  while (performance.now() < end && !(await answers(store))) await sleep(STORE_RETRY_MS);
  return store;
}

async function answers(store: Store): Promise<boolean> {
  return store.get('Visit', '').then(
    () => true,
    () => false,
  );
}

function required({ frontDoor }: Config): FrontDoor {
  if (frontDoor === undefined) throw new TypeError('no front_door is configured');
  return frontDoor;
}
