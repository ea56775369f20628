import { hash } from 'node:crypto';
import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from 'oidc-provider';
import type { Clock } from '../lib/clock.ts';
import type { Store } from './store.ts';

/** The live registrations that are kept at most. */
const MAX_REGISTRATIONS = 10_000;
/** How long a new registration waits for its first use, so that a flood does not keep clients out for longer. */
const FIRST_USE_MS = 86_400_000;
/** The live tokens of one grant, for each model. More than one refresh a second, for as long as a token lives. */
const MAX_LIVE_TOKENS = 1_000;

/** The longest record of a caller that has not signed in, as JSON: such records are many, and hold what it sent. */
const MAX_LENGTH = 8 * 1024;
const ofStrangers: ReadonlySet<string> = new Set(['Interaction', 'Client']);

/** What the adapter of oidc-provider is built from. */
export interface AdapterParts {
  readonly store: Store;
  readonly clock: Clock;
  /** How long a registration lives after its last use. */
  readonly registrationMs: number;
  /** Called with the SHA-256 (base64url) of each access token that ends before it expires. */
  readonly onRevoked: (tokens: readonly string[]) => Promise<void>;
}

/** Models that end with their grant. */
const ofGrants: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);

/**
 * Creates the storage of oidc-provider. Records are found by the SHA-256 of their id, so that no store has a usable
 * token as a key.
 */
export function createAdapter(parts: AdapterParts): AdapterFactory {
  return (model) => adapterOf(model, parts);
}

/** The key of a token in the store, and its name in messages to the gateway. */
export function digestOf(id: string): string {
  return hash('sha256', id, 'base64url');
}

function adapterOf(model: string, parts: AdapterParts): Adapter {
  const { store, clock, registrationMs, onRevoked } = parts;

  async function keep(digest: string, payload: AdapterPayload, expiresAt: number): Promise<void> {
    if (ofStrangers.has(model) && JSON.stringify(payload).length > MAX_LENGTH)
      throw new errors.InvalidRequest('the request is too long');
    if (model !== 'Client') return store.set(model, digest, payload, expiresAt);
    if (await store.setBounded(model, digest, payload, expiresAt, MAX_REGISTRATIONS)) return undefined;
    throw new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many clients are registered');
  }

  /** Lists a token with its grant, so that it ends with it. */
  async function list(digest: string, grantId: string, expiresAt: number): Promise<void> {
    if (await store.addMember(setOf(model, grantId), digest, expiresAt, MAX_LIVE_TOKENS)) return;
    throw new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many tokens of one grant are in use');
  }

  /** Ends all tokens of this model that rest on a grant. */
  async function revokeByGrantId(grantId: string): Promise<void> {
    const digests = await store.takeMembers(setOf(model, grantId));
    await Promise.all(digests.map((digest) => store.delete(model, digest)));
    if (model === 'AccessToken' && digests.length > 0) await onRevoked(digests);
  }

  return {
    async upsert(id, payload, expiresIn) {
      const expiresAt = clock() + (expiresIn === undefined ? Math.min(FIRST_USE_MS, registrationMs) : expiresIn * 1000);
      const digest = digestOf(id);
      if (ofGrants.has(model) && payload.grantId !== undefined) await list(digest, payload.grantId, expiresAt);
      await keep(digest, payload, expiresAt);
      if (model === 'Session' && payload.uid !== undefined) {
        await store.set('SessionUid', digestOf(payload.uid), id, expiresAt);
      }
    },
    find: async (id) => (await store.get(model, digestOf(id))) as AdapterPayload | undefined,
    async findByUid(uid) {
      const id = await store.get('SessionUid', digestOf(uid));
      return typeof id === 'string'
        ? ((await store.get(model, digestOf(id))) as AdapterPayload | undefined)
        : undefined;
    },
    // The device flow is off.
    findByUserCode: async () => undefined,
    async consume(id) {
      const digest = digestOf(id);
      const found = (await store.get(model, digest)) as AdapterPayload | undefined;
      const { exp = 0, clientId = '', grantId = '' } = found ?? {};
      // oidc-provider has looked already, and another replica may have looked at the same time.
      if (found === undefined || !(await store.firstSeen(`${model} ${digest}`, exp * 1000, clientId))) {
        await Promise.all([...ofGrants].map((each) => adapterOf(each, parts).revokeByGrantId(grantId)));
        await store.delete('Grant', digestOf(grantId));
        throw new errors.InvalidGrant('it was used already');
      }
      await store.set(model, digest, { ...found, consumed: Math.floor(clock() / 1000) }, exp * 1000);
      // It opens nothing any more, and its record alone shows a second use: the list does not grow with each refresh.
      await store.removeMember(setOf(model, grantId), digest);
    },
    async destroy(id) {
      await store.delete(model, digestOf(id));
      if (model === 'AccessToken') await onRevoked([digestOf(id)]);
    },
    revokeByGrantId,
  };
}

function setOf(model: string, grantId: string): string {
  return `${model} ${digestOf(grantId)}`;
}
