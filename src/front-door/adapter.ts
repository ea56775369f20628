import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from 'oidc-provider';
import type { FrontDoorRevocations } from '../ports/revocation.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { INTERACTION_SECONDS } from './browser-binding.ts';
import { isWorkload } from './client-policy.ts';
import { digestOf } from '../core/lib/digest.ts';
import { full, isRecordKind, limitsOf, type RecordKind, Unavailable } from './store.ts';
import { isRevoked } from './sign-ins.ts';
import { type RefreshGrace, UsedMeanwhile } from './refresh-grace.ts';
import { usedGrant } from './token-ids.ts';
import { type DeviceParts, findByUserCode, requirePace, saveDevice } from './devices.ts';

/** The life of a new registration without a first use, so that a flood does not keep clients out for longer. */
const FIRST_USE_MS = 86_400_000;
/** The life of a session without a person: as long as what waits for one. */
const VISIT_MS = INTERACTION_SECONDS * 1000;
/** The live tokens of one grant, for each model. More than one refresh a second, for as long as a token lives. */
const MAX_LIVE_TOKENS = 1_000;
/** The live tokens of one workload: a half of all. */
const MAX_OF_WORKLOAD = limitsOf('ClientCredentials').most / 2;

/** The parts of the adapter of oidc-provider. */
export interface AdapterParts extends DeviceParts {
  /** How long a registration lives after its last use. */
  readonly registrationMs: number;
  /** The key of the ids of codes and refresh tokens, as `token-ids.ts` has it. */
  readonly tokenKey: string;
  /** Called with the SHA-256 (base64url) of each access token that ends before it expires. */
  readonly onRevoked: (tokens: readonly string[]) => Promise<void>;
  /** Whose rights ended; undefined without `revocation`. */
  readonly revocations?: { readonly check: FrontDoorRevocations; readonly issuer: string } | undefined;
  /**
   * Whether a code or a refresh token is presented to get tokens. To introspect or to revoke one proves no theft, and
   * must not end a grant. Default: yes.
   */
  readonly isExchange?: () => boolean;
  /** Refuses a token request before its code or refresh token is used up, by throwing. */
  readonly beforeUse?: (payload: AdapterPayload) => void;
  /** Lets a used refresh token be presented again; undefined: each is used once. */
  readonly grace?: RefreshGrace | undefined;
  /** Called when a used code or refresh token ended its grant. */
  readonly onReused?: (reused: ReusedGrant) => void;
}

/** A grant that ended because its code or its refresh token was presented again. */
interface ReusedGrant {
  readonly model: 'AuthorizationCode' | 'RefreshToken';
  readonly clientId: string | undefined;
  readonly subject: string | undefined;
  /** When what took its place was issued, or a later one of the chain, in seconds since the epoch. */
  readonly usedAt: number | undefined;
}

const ofGrants = ['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode'] as const;

const usedOnce = ['AuthorizationCode', 'RefreshToken'] as const;

function isUsedOnce(model: string): model is (typeof usedOnce)[number] {
  return (usedOnce as readonly string[]).includes(model);
}

function isOfGrants(model: string): model is (typeof ofGrants)[number] {
  return (ofGrants as readonly string[]).includes(model);
}

/** The kinds of records that a token endpoint makes in exchange for one of a model. */
function issuedFor(model: string, hasGrace: boolean): readonly RecordKind[] {
  if (model === 'AuthorizationCode' || model === 'DeviceCode') return ['AccessToken', 'RefreshToken'];
  if (model !== 'RefreshToken') return [];
  return hasGrace ? ['AccessToken', 'UsedRefreshToken'] : ['AccessToken'];
}

/**
 * Creates the storage of oidc-provider. Records are found by the SHA-256 of their id, so that no store has a usable
 * token as a key.
 */
export function createAdapter(parts: AdapterParts): AdapterFactory {
  return (model) => adapterOf(model, parts);
}

function adapterOf(model: string, parts: AdapterParts): Adapter {
  const {
    store,
    clock,
    registrationMs,
    network,
    onRevoked,
    revocations,
    beforeUse,
    grace,
    isExchange = () => true,
  } = parts;

  /** Lists a token with its grant, so that it ends with it. */
  async function list(digest: string, grantId: string, expiresAt: number): Promise<void> {
    if (await store.addMember(setOf(model, digestOf(grantId)), digest, expiresAt, MAX_LIVE_TOKENS)) return;
    if (isRecordKind(model)) await store.delete(model, digest);
    throw full(`${model} of one grant`);
  }

  /** Lists a token with its workload, whose platform makes any number of subjects. */
  async function listOfWorkload(digest: string, workload: string, expiresAt: number): Promise<void> {
    if (await store.addMember(setOf(model, workload), digest, expiresAt, MAX_OF_WORKLOAD)) return;
    await store.delete('ClientCredentials', digest);
    throw full(`${model} of one workload`);
  }

  async function read(kind: string, digest: string): Promise<AdapterPayload | undefined> {
    if (!isRecordKind(kind)) return undefined;
    const payload = (await store.get(kind, digest)) as AdapterPayload | undefined;
    return payload === undefined || isGood(kind, payload) ? payload : undefined;
  }

  /** Whether no revocation ends the record. The consent of a person is no right: it stays. */
  function isGood(kind: RecordKind, payload: AdapterPayload): boolean {
    if (revocations === undefined || kind === 'Grant' || kind === 'Interaction') return true;
    if (!revocations.check.isReady()) throw new Unavailable('the front door does not know the kept revocations yet');
    if (kind === 'Client') return !hasRegistrationEnded(payload, revocations);
    return !isRevoked(revocations.check, revocations.issuer, payload);
  }

  /**
   * Requires that the request can succeed, and room for what is issued in exchange. The client of a refusal tries again
   * with the same code or refresh token, which ends its grant if it was consumed before. A renewed refresh token takes
   * the room of the old one.
   */
  async function requireUsable(digest: string): Promise<void> {
    const issued = issuedFor(model, grace !== undefined);
    if (issued.length === 0) return;
    const payload = await read(model, digest);
    // A device that was refused gets nothing.
    if (payload?.error !== undefined) return;
    if (payload !== undefined) beforeUse?.(payload);
    const owner = payload?.accountId;
    const hasRoom = await Promise.all(issued.map((kind) => store.hasRoom(kind, owner)));
    const lacking = issued.find((_kind, index) => hasRoom[index] === false);
    if (lacking !== undefined) throw full(lacking);
  }

  /** A refresh token that was used within the grace. Another client, or another key, ends its grant. */
  async function readUsed(id: string): Promise<AdapterPayload | undefined> {
    if (grace === undefined || model !== 'RefreshToken') return undefined;
    const payload = await read('UsedRefreshToken', digestOf(id));
    if (payload === undefined || !(await grace.isOwner(payload))) return undefined;
    grace.note(id, payload, 'another');
    return payload;
  }

  return {
    async upsert(id, payload, expiresIn) {
      const { accountId, grantId, uid } = payload;
      const kind = model === 'Session' && accountId === undefined ? 'Visit' : model;
      if (!isRecordKind(kind)) throw new TypeError(`${kind} is off`);
      const lifeMs = expiresIn === undefined ? Math.min(FIRST_USE_MS, registrationMs) : expiresIn * 1000;
      const digest = digestOf(id);
      if (kind === 'DeviceCode') {
        const expiresAt = await saveDevice(digest, payload, store);
        if (grantId !== undefined) await list(digest, grantId, expiresAt);
        return;
      }
      const expiresAt = clock() + (kind === 'Visit' ? Math.min(lifeMs, VISIT_MS) : lifeMs);
      // Until its first use, a registration counts for its network, and so does a session without a person.
      const isOfNetwork = kind === 'Visit' || (kind === 'Client' && expiresIn === undefined);
      const owner = isOfNetwork ? network?.() : (accountId ?? subjectIn(payload));
      await store.set({ kind, id: digest, value: payload, expiresAt, owner });
      if (isOfGrants(kind) && grantId !== undefined) await list(digest, grantId, expiresAt);
      if (kind === 'ClientCredentials' && isWorkload(payload.clientId ?? ''))
        await listOfWorkload(digest, payload.clientId ?? '', expiresAt);
      if (kind === 'Session' && uid !== undefined) {
        await store.set({ kind: 'SessionUid', id: digestOf(uid), value: id, expiresAt, owner: accountId });
      }
    },
    async find(id) {
      const digest = digestOf(id);
      const payload = (await read(model, digest)) ?? (model === 'Session' ? await read('Visit', digest) : undefined);
      if (payload === undefined && isUsedOnce(model) && isExchange()) {
        const used = await readUsed(id);
        if (used !== undefined) return used;
        await endUsed(model, id, parts);
      }
      if (payload !== undefined && model === 'RefreshToken' && isExchange()) grace?.note(id, payload);
      if (payload !== undefined && model === 'DeviceCode' && isExchange()) await requirePace(digest, payload, parts);
      return payload;
    },
    async findByUid(uid) {
      const id = await store.get('SessionUid', digestOf(uid));
      return typeof id === 'string' ? read('Session', digestOf(id)) : undefined;
    },
    findByUserCode: async (userCode) => findByUserCode(userCode, parts),
    async consume(id) {
      const digest = digestOf(id);
      // Before oidc-provider asks for it.
      if (grace?.hasUsed(id) === true) return;
      await requireUsable(digest);
      // oidc-provider has found it already, and another replica may have found it at the same time.
      const payload = isOfGrants(model) ? ((await store.take(model, digest)) as AdapterPayload | undefined) : undefined;
      if (payload === undefined) {
        if (grace !== undefined && (await store.get('UsedRefreshToken', digest)) !== undefined)
          throw new UsedMeanwhile();
        if (isUsedOnce(model)) await endUsed(model, id, parts);
        throw new errors.InvalidGrant('it was used already');
      }
      await store.removeMember(setOf(model, digestOf(payload.grantId ?? '')), digest);
    },
    async destroy(id) {
      const digest = digestOf(id);
      const payload = isRecordKind(model)
        ? ((await store.take(model, digest)) as AdapterPayload | undefined)
        : undefined;
      if (payload?.grantId !== undefined) await store.removeMember(setOf(model, digestOf(payload.grantId)), digest);
      if (model === 'Session') await store.delete('Visit', digest);
      if (model === 'AccessToken' || model === 'ClientCredentials') await onRevoked([digest]);
    },
    async revokeByGrantId(grantId) {
      await endTokens(model, digestOf(grantId), parts);
    },
  };
}

/** A registration does not come back with the lift of what ended it: the client registers anew. */
function hasRegistrationEnded(
  { client_id: client, client_id_issued_at: registeredAt }: AdapterPayload,
  { check, issuer }: NonNullable<AdapterParts['revocations']>,
): boolean {
  return typeof client === 'string' && typeof registeredAt === 'number' && check.hasEnded(issuer, client, registeredAt);
}

/** The subject of a token without a person, which it has among its claims. */
function subjectIn({ extra }: AdapterPayload): string | undefined {
  const subject = ownMember(extra, 'sub');
  return typeof subject === 'string' ? subject : undefined;
}

/** Returns the tokens that it ended. */
async function endTokens(
  model: string,
  grant: string,
  { store, onRevoked }: AdapterParts,
): Promise<readonly AdapterPayload[]> {
  if (!isOfGrants(model)) return [];
  const digests = await store.takeMembers(setOf(model, grant));
  const ended = (await Promise.all(digests.map((digest) => store.take(model, digest)))) as (
    | AdapterPayload
    | undefined
  )[];
  if (model === 'AccessToken' && digests.length > 0) await onRevoked(digests);
  return ended.filter((payload) => payload !== undefined);
}

/**
 * Ends a grant with all its tokens, if a code or a refresh token of it was presented that has no record and has not
 * expired: it was used before (RFC 9700 §4.14.2).
 */
async function endUsed(model: ReusedGrant['model'], id: string, parts: AdapterParts): Promise<void> {
  const { store, onReused } = parts;
  const grant = usedGrant(id, parts.clock(), parts.tokenKey);
  if (grant === undefined) return;
  const digest = digestOf(id);
  // A refresh token in place of a code, or the other way round, was not used by that.
  for (const kind of usedOnce) if ((await store.get(kind, digest)) !== undefined) return;
  const record = (await store.get('Grant', grant)) as AdapterPayload | undefined;
  const [accessTokens = [], , refreshTokens = []] = await Promise.all(
    ofGrants.map((each) => endTokens(each, grant, parts)),
  );
  await store.delete('Grant', grant);
  const successors = refreshTokens.length > 0 ? refreshTokens : accessTokens;
  if (record === undefined && successors.length === 0) return;
  const { clientId, accountId: subject } = record ?? successors[0] ?? {};
  const issued = successors.flatMap(({ iat }) => iat ?? []);
  onReused?.({ model, clientId, subject, usedAt: issued.length > 0 ? Math.max(...issued) : undefined });
}

function setOf(model: string, grant: string): string {
  return `${model} ${grant}`;
}
