import type { Clock } from '../core/lib/clock.ts';
import { Denial } from '../core/model/denial.ts';
import { createReplayMemory, seenIn } from '../tokens/replay-memory.ts';
import { createScript, type LogStore, type SharedStore, type StoreConnection, StoreError } from '../ports/store.ts';
import { publishRevoked } from '../tokens/revoked-tokens.ts';
import { full, limitsOf, type RecordKind, reserveOf, type Store, textOf, Unavailable } from './store.ts';

/** The kinds whose ids never come back, once they were used or have ended. */
const once: ReadonlySet<RecordKind> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'DeviceCode',
  'RefreshToken',
  'Grant',
] as const);
/** How long a process remembers a record without `exp` that was used or has ended. */
const REMEMBERED_MS = 86_400_000;
/** At most one line about foreign records in this time. */
const FOREIGN_LOG_MS = 60_000;

/** The longest sealed record that is read: an attacker with write access could make it of any length. */
const MAX_BYTES = 256 * 1024;

/**
 * KEYS: the record, the index of its kind, the index of its owner if it has one, and a last one. ARGV: the value, its
 * expiry and the time (ms), and for each index the most live ones. A record of another owner leaves the index of that
 * owner. An index has records by their expiry; each call removes a part of those that have expired, so that no call is
 * long. Returns 1, or 0 and keeps nothing.
 */
const setScript = `
local now, left, last = ARGV[3], ARGV[2] - ARGV[3], #KEYS - 1
for index = 2, last do
  local key = KEYS[index]
  local ended = redis.call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
  if #ended > 0 then redis.call('ZREM', key, unpack(ended)) end
  local isNew = not redis.call('ZSCORE', key, KEYS[1])
  if isNew and redis.call('ZCOUNT', key, '(' .. now, '+inf') >= tonumber(ARGV[index + 2]) then return 0 end
end
local before = string.match(redis.call('GETRANGE', KEYS[1], 0, 255), '^([^\\n]+)\\n')
if before and before ~= KEYS[3] then redis.call('ZREM', before, KEYS[1]) end
for index = 2, last do
  redis.call('ZADD', KEYS[index], ARGV[2], KEYS[1])
  if redis.call('PTTL', KEYS[index]) < left then redis.call('PEXPIRE', KEYS[index], left) end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', left)
return 1
`;

/** KEYS: the record, which is deleted, and the index of its kind. ARGV: the most bytes that are read, less one. */
const takeRecordScript = `
local value = redis.call('GETRANGE', KEYS[1], 0, ARGV[1])
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], KEYS[1])
local owner = string.match(value, '^([^\\n]+)\\n')
if owner then redis.call('ZREM', owner, KEYS[1]) end
return value
`;

/**
 * KEYS: the set, of members by their expiry. ARGV: a member, its expiry and the time (ms), the most live ones. The set
 * lives as long as its longest member. Returns 1, or 0 and adds nothing.
 */
const addScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if redis.call('PEXPIRETIME', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 1
`;

/** The members of a set that are taken, more than any has: an attacker with write access could add any number. */
const MAX_MEMBERS = 2_000;

/** KEYS: the set, which is emptied. ARGV: the time (ms). */
const takeScript = `
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ${MAX_MEMBERS})
redis.call('DEL', KEYS[1])
return members
`;

/**
 * Creates a store that all replicas share. Records are sealed: a reader of the store learns nothing, and a writer can
 * forge nothing. Each method rejects while the store is unavailable, so that a sign-in fails rather than be forgotten.
 */
export function createSharedStore(
  shared: SharedStore,
  { log, clock }: { readonly log: LogStore; readonly clock: Clock },
): Store {
  const { sealing } = shared;
  const connection = answeringUnavailable(shared.connection);
  // Closed whatever `on_store_failure` says: a code must not be used twice.
  const replay = shared.replay(createReplayMemory(clock), 'closed');
  const setRecord = createScript(connection, 'set', setScript);
  const takeRecord = createScript(connection, 'get', takeRecordScript);
  const addMember = createScript(connection, 'set', addScript);
  const takeMembers = createScript(connection, 'get', takeScript);
  /** In one slot of a cluster, since a record, its index and that of its owner change in one step. */
  const placeOf = (kind: string, id: string): string => sealing.place(`{front-door}:${kind}`, id);
  const indexOf = (kind: string): string => placeOf('index', kind);

  /** The index of the owner stands in the first line: a keyed digest, as the indexes and the sets have. */
  function opened(place: string, text: unknown): unknown {
    if (typeof text !== 'string' || text === '' || text.length > MAX_BYTES) return undefined;
    const json = sealing.open(place, text.slice(text.indexOf('\n') + 1));
    return json === undefined ? undefined : (JSON.parse(json) as unknown);
  }

  /** What this process saw used or ended. The store has no record of that, in which a flood of tokens would be kept. */
  const ended = createReplayMemory(clock);
  let loggedAt = -Infinity;

  function requireLive(kind: RecordKind, isLive: boolean): void {
    if (isLive) return;
    if (clock() - loggedAt >= FOREIGN_LOG_MS) {
      loggedAt = clock();
      log('warn', 'shared store holds a record that was used or has ended', { kind });
    }
    throw new Unavailable('the store of the front door holds a record that was used or has ended');
  }

  async function take(kind: RecordKind, id: string): Promise<unknown> {
    const place = placeOf(kind, id);
    const record = opened(place, await takeRecord([place, indexOf(kind)], [String(MAX_BYTES)]));
    if (record === undefined || !once.has(kind)) return record;
    const { exp } = record as { readonly exp?: unknown };
    const expiresAt = typeof exp === 'number' ? exp * 1000 : clock() + REMEMBERED_MS;
    requireLive(kind, !seenIn(ended, place, expiresAt, kind));
    return record;
  }

  return {
    async get(kind, id) {
      const place = placeOf(kind, id);
      const text = await connection.run('get', place, (client) => client.getRange(place, 0, MAX_BYTES));
      const record = opened(place, text);
      // A time that is over asks, and remembers nothing.
      if (record !== undefined && once.has(kind)) requireLive(kind, !seenIn(ended, place, 0, kind));
      return record;
    },
    async set(record) {
      const { kind, id, owner, expiresAt } = record;
      const { most, mostOfOwner } = limitsOf(kind);
      if (Math.floor(expiresAt) <= clock()) return;
      const place = placeOf(kind, id);
      const ofOwner = owner === undefined ? undefined : placeOf(`owner ${kind}`, owner);
      const value = `${ofOwner ?? ''}\n${sealing.seal(place, textOf(record))}`;
      const numbers = [Math.floor(expiresAt), Math.floor(clock()), most, Math.min(mostOfOwner, most)];
      const keys = [place, indexOf(kind), ...(ofOwner === undefined ? [] : [ofOwner])] as const;
      if ((await setRecord(keys, [value, ...numbers.map(String)])) !== 1) throw full(kind);
    },
    async hasRoom(kind, owner) {
      const { most, mostOfOwner } = limitsOf(kind);
      const bounds = new Map([[indexOf(kind), most]]);
      if (owner !== undefined) bounds.set(placeOf(`owner ${kind}`, owner), mostOfOwner);
      const rooms = Array.from(bounds, async ([index, bound]) => {
        const live = await connection.run('get', index, (client) => client.zCount(index, `(${clock()}`, '+inf'));
        return live + reserveOf(bound) <= bound;
      });
      return (await Promise.all(rooms)).every(Boolean);
    },
    take,
    delete: async (kind, id) => void (await take(kind, id)),
    addMember: async (set, member, expiresAt, max) =>
      (await addMember([placeOf('members', set)], [member, ...[Math.floor(expiresAt), clock(), max].map(String)])) ===
      1,
    async removeMember(set, member) {
      const place = placeOf('members', set);
      await connection.run('delete', place, (client) => client.zRem(place, member));
    },
    async takeMembers(set) {
      const taken = await takeMembers([placeOf('members', set)], [String(clock())]);
      return Array.isArray(taken) ? taken.map(String) : [];
    },
    firstSeen: async (key, expiresAt, owner) =>
      Promise.resolve(replay.firstSeen(`front door ${key}`, expiresAt, owner)).catch(throwUnavailable),
    publishRevoked: (digests) => publishRevoked({ connection, sealing }, digests),
    close: () => connection.close(),
  };
}

/** A connection whose failures are answers with 503, and no bugs. */
function answeringUnavailable(connection: StoreConnection): StoreConnection {
  return {
    ...connection,
    run: (operation, key, command, resultOf) =>
      connection.run(operation, key, command, resultOf).catch(throwUnavailable),
  };
}

function throwUnavailable(error: unknown): never {
  if (error instanceof StoreError || error instanceof Denial)
    throw new Unavailable('the store of the front door does not answer');
  throw error;
}
