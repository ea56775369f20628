import {
  approvalBounds,
  type ApprovalBook,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalStatus,
  type ApprovalUse,
  type AskAnswer,
  type AskedCall,
  type DecidedApproval,
  decidedFrom,
  type KeptApproval,
  OVER_MS,
  type SweptApprovals,
} from '../model/approval-book.ts';
import { Denial } from '../model/denial.ts';
import { createScript, type Script, type StoreConnection, storeDenial } from './connection.ts';
import { type Sealing, STORE_PREFIX } from './sealing.ts';

interface SharedApprovalParts {
  readonly connection: StoreConnection;
  readonly sealing: Sealing;
  readonly bounds?: { readonly ofOwner: number; readonly ofAll: number; readonly bytes: number };
}

type ApprovalRow = readonly [id: string, status: ApprovalStatus, ends: string, body: string, proof: string];

/** A decision of a person, sealed: a writer of the store can forge none. */
interface Proof {
  readonly digest: string;
  readonly identity: string;
  readonly usableUntil: number;
}

const PAGE = 100;

/**
 * The script of the shared book of approvals, in Lua: one atomic step. KEYS: the prefix of a route. ARGV: the
 * step as JSON, with `op`.
 *
 * A request is a hash `r:ID` (`status ends body proof owner binding bytes created`). `live` has the ids of those that
 * live by their end, `o:OWNER` those of one caller, `b:BINDING` the id for a call, `n:ROUND` the id for its next round.
 */
const approvalScript = `
local p, step = KEYS[1], cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function key(id) return p .. 'r:' .. id end
local function get(id, field) return redis.call('HGET', key(id), field) end
local function row(id)
  local v = redis.call('HMGET', key(id), 'status', 'ends', 'body', 'proof')
  return id, v[1], v[2], v[3], v[4] or ''
end

-- Takes a request out of those that live. It can be read for a while.
local function leave(id, status, overMs)
  local v = redis.call('HMGET', key(id), 'owner', 'binding', 'bytes')
  if redis.call('ZREM', p .. 'live', id) == 1 then
    redis.call('DECRBY', p .. 'bytes', v[3])
    redis.call('ZREM', p .. 'waiting', id)
    redis.call('ZREM', p .. 'o:' .. v[1], id)
    if redis.call('GET', p .. 'b:' .. v[2]) == id then redis.call('DEL', p .. 'b:' .. v[2]) end
  end
  redis.call('HSET', key(id), 'status', status, 'ends', now + overMs)
  redis.call('PEXPIRE', key(id), overMs)
end

local function enter(id, owner, binding, bytes, status, ends)
  local lives = math.max(1, ends - now) + 86400000
  redis.call('HSET', key(id), 'status', status, 'ends', ends)
  redis.call('PEXPIRE', key(id), lives)
  redis.call('ZADD', p .. 'live', ends, id)
  if status == 'pending' then redis.call('ZADD', p .. 'waiting', ends, id) end
  redis.call('ZADD', p .. 'o:' .. owner, ends, id)
  redis.call('PEXPIRE', p .. 'o:' .. owner, lives)
  redis.call('SET', p .. 'b:' .. binding, id, 'PX', lives)
  redis.call('INCRBY', p .. 'bytes', bytes)
end

local function change(id, status, ends)
  redis.call('HSET', key(id), 'status', status, 'ends', ends)
  redis.call('ZADD', p .. 'live', ends, id)
  redis.call('ZADD', p .. 'o:' .. get(id, 'owner'), ends, id)
  redis.call('ZREM', p .. 'waiting', id)
  local lives = math.max(1, ends - now) + 86400000
  redis.call('PEXPIRE', key(id), lives)
  redis.call('PEXPIRE', p .. 'b:' .. get(id, 'binding'), lives)
  redis.call('PEXPIRE', p .. 'o:' .. get(id, 'owner'), lives)
end

-- The state of a request, or nil. What has ended and was not swept yet does not live.
local function stateOf(id)
  local status, ends = get(id, 'status'), get(id, 'ends')
  if not status or tonumber(ends) <= now then return nil end
  return status
end

local function counted(set) return redis.call('ZCOUNT', set, '(' .. now, '+inf') end

if step.op == 'ask' then
  if step.round ~= '' then
    local id = redis.call('GET', p .. 'n:' .. step.round)
    if id and get(id, 'binding') == step.binding and stateOf(id) == 'used' then
      redis.call('DEL', p .. 'n:' .. step.round)
      return { 'taken', 0, row(id) }
    end
  end
  local id = redis.call('GET', p .. 'b:' .. step.binding)
  local status = id and stateOf(id)
  if status == 'approved' then
    redis.call('HSET', key(id), 'until', get(id, 'ends'))
    leave(id, 'used', step.overMs)
    return { 'taken', 0, row(id) }
  end
  if status == 'pending' then return { 'waiting', 0, row(id) } end
  if status == 'denied' then return { 'denied', 0, row(id) } end
  local own = counted(p .. 'o:' .. step.owner)
  if own >= step.ofOwner then return { 'full', own .. ' of this caller are kept' } end
  local all = counted(p .. 'live')
  if all >= step.ofAll then return { 'full', all .. ' are kept' } end
  local bytes = tonumber(redis.call('GET', p .. 'bytes') or 0)
  if bytes + #step.body > step.bytes then return { 'full', bytes .. ' bytes are kept' } end
  redis.call('HSET', key(step.id), 'body', step.body, 'owner', step.owner, 'binding', step.binding, 'bytes', #step.body)
  enter(step.id, step.owner, step.binding, #step.body, 'pending', now + step.waitMs)
  return { 'waiting', 1, row(step.id) }
end

if step.op == 'settle' then
  if stateOf(step.id) ~= 'used' then return 0 end
  if step.round ~= '' then
    redis.call('SET', p .. 'n:' .. step.round, step.id, 'PX', step.overMs)
    redis.call('PEXPIRE', key(step.id), step.overMs)
    redis.call('HSET', key(step.id), 'ends', now + step.overMs)
    return 1
  end
  local v = redis.call('HMGET', key(step.id), 'owner', 'binding', 'bytes', 'until')
  if not v[4] or tonumber(v[4]) <= now then return 0 end
  local newer = redis.call('GET', p .. 'b:' .. v[2])
  if newer then leave(newer, 'expired', 60000) end
  enter(step.id, v[1], v[2], v[3], 'approved', tonumber(v[4]))
  return 1
end

if step.op == 'decide' then
  if redis.call('EXISTS', key(step.id)) == 0 then return nil end
  local status, done = stateOf(step.id), 0
  for _, from in ipairs(step.from) do if from == status then done = 1 end end
  if done == 1 and step.to == 'approved' then
    redis.call('HSET', key(step.id), 'proof', step.proof)
    change(step.id, 'approved', now + step.validMs)
  elseif done == 1 and step.to == 'denied' then change(step.id, 'denied', tonumber(get(step.id, 'ends')))
  elseif done == 1 then leave(step.id, 'expired', step.overMs) end
  if not status then leave(step.id, 'expired', step.overMs) end
  return { done, row(step.id) }
end

if step.op == 'find' then
  if redis.call('EXISTS', key(step.id)) == 0 then return nil end
  local id, status, ends, body, proof = row(step.id)
  if not stateOf(id) then status = 'expired' end
  return { id, status, ends, body, proof }
end

if step.op == 'list' then
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', p .. 'live', step.from, step.to)) do
    local own, status, ends, body, proof = row(id)
    if body then table.insert(found, { own, stateOf(id) or 'expired', ends, body, proof }) end
  end
  return found
end

if step.op == 'expire' then
  local status = stateOf(step.id)
  if status and status ~= 'used' and status ~= 'expired' then leave(step.id, 'expired', step.overMs) end
  return 1
end

local found = { 0 }
for _, id in ipairs(redis.call('ZRANGE', p .. 'live', '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
  local status = get(id, 'status')
  if status then
    leave(id, 'expired', step.overMs)
    if status ~= 'denied' then table.insert(found, { row(id) }) end
  else redis.call('ZREM', p .. 'live', id) end
end
if redis.call('ZCARD', p .. 'live') == 0 then redis.call('DEL', p .. 'bytes') end
found[1] = counted(p .. 'waiting')
redis.call('ZREMRANGEBYSCORE', p .. 'waiting', '-inf', now)
return found
`;

/**
 * The book that replicas share. Each step is one script, and all keys of a route lie in one slot. What is kept is
 * sealed; states and times are readable.
 */
export class SharedApprovals implements ApprovalBook {
  readonly #parts: SharedApprovalParts;
  readonly #script: Script;

  constructor(parts: SharedApprovalParts) {
    this.#parts = parts;
    this.#script = createScript(parts.connection, 'approval', approvalScript);
  }

  async ask({ request, owner, waitMs, continues }: AskedCall): Promise<AskAnswer> {
    const { route } = request.call;
    const { sealing, bounds = approvalBounds } = this.#parts;
    const body = sealing.seal(this.#bodyPlace(route, request.id), JSON.stringify(request));
    const answer = (await this.#run(route, {
      op: 'ask',
      id: request.id,
      body,
      binding: this.#place(route, 'binding', `${request.digest} ${request.identity}`),
      owner: this.#place(route, 'owner', owner),
      waitMs,
      round: continues === undefined ? '' : this.#place(route, 'round', continues),
      overMs: OVER_MS,
      ...bounds,
    })) as readonly ['full', string] | readonly ['taken' | 'waiting' | 'denied', number, ...ApprovalRow];
    if (answer[0] === 'full') return { kind: 'full', detail: answer[1] };
    const [kind, isNew, ...rest] = answer;
    const row: ApprovalRow = rest;
    const approval = this.#opened(route, row);
    if (approval === undefined) throw new Denial('shared_store.unavailable', 'a request that no replica wrote');
    if (kind === 'taken' && !this.#isProved(approval, row[4])) {
      throw new Denial('shared_store.unavailable', 'an approval that no replica wrote');
    }
    return { kind, approval, isNew: isNew === 1 };
  }

  async settle(route: string, id: string, use: ApprovalUse): Promise<void> {
    if (use === 'used') return;
    const round = 'round' in use ? this.#place(route, 'round', use.round) : '';
    // A store that does not answer leaves the approval used: it must not pass twice.
    await this.#run(route, { op: 'settle', id, round, overMs: OVER_MS }).catch(() => {});
  }

  async decide(route: string, id: string, decision: ApprovalDecision): Promise<DecidedApproval | undefined> {
    const known = await this.find(route, id);
    if (known === undefined) return undefined;
    const { digest, identity, validMs } = known;
    // The clock of the store ends it; the proof outlives that by a day of difference between clocks at most.
    const proof: Proof = { digest, identity, usableUntil: Date.now() + validMs };
    const answer = (await this.#run(route, {
      op: 'decide',
      id,
      from: decidedFrom[decision],
      to: ({ approve: 'approved', deny: 'denied', withdraw: 'expired' } as const)[decision],
      validMs,
      overMs: OVER_MS,
      proof: this.#parts.sealing.seal(this.#proofPlace(route, id), JSON.stringify(proof)),
    })) as readonly [isDone: number, ...ApprovalRow] | null;
    if (answer === null) return undefined;
    const [isDone, ...row] = answer;
    const approval = this.#opened(route, row);
    return approval && { approval, isDone: isDone === 1 };
  }

  async find(route: string, id: string): Promise<KeptApproval | undefined> {
    const row = (await this.#run(route, { op: 'find', id })) as ApprovalRow | null;
    return row === null ? undefined : this.#opened(route, row);
  }

  async list(route: string): Promise<readonly KeptApproval[]> {
    const found: KeptApproval[] = [];
    for (let from = 0; ; from += PAGE) {
      const rows = (await this.#run(route, { op: 'list', from, to: from + PAGE - 1 })) as readonly ApprovalRow[];
      found.push(...rows.flatMap((row) => this.#opened(route, row) ?? []));
      if (rows.length < PAGE) return found;
    }
  }

  async expire(route: string, id: string): Promise<void> {
    await this.#run(route, { op: 'expire', id, overMs: OVER_MS });
  }

  async sweep(route: string): Promise<SweptApprovals> {
    const [waiting, ...rows] = (await this.#run(route, { op: 'sweep', overMs: OVER_MS })) as readonly [
      number,
      ...ApprovalRow[],
    ];
    return { expired: rows.flatMap((row) => this.#opened(route, row) ?? []), waiting };
  }

  #prefix(route: string): string {
    return `${STORE_PREFIX}${this.#parts.sealing.slot('approvals', route)}:`;
  }

  #place(route: string, kind: string, key: string): string {
    return this.#parts.sealing.place(`approval ${kind}`, `${route}\0${key}`).split(':').at(-1) ?? '';
  }

  #bodyPlace(route: string, id: string): string {
    return `${this.#prefix(route)}body:${id}`;
  }

  #proofPlace(route: string, id: string): string {
    return `${this.#prefix(route)}proof:${id}`;
  }

  #opened(route: string, [id, status, ends, body]: ApprovalRow): KeptApproval | undefined {
    const text = this.#parts.sealing.open(this.#bodyPlace(route, id), body);
    return text === undefined ? undefined : { ...(JSON.parse(text) as ApprovalRequest), status, endsAt: Number(ends) };
  }

  #isProved({ id, digest, identity, call }: KeptApproval, sealed: string): boolean {
    const text = this.#parts.sealing.open(this.#proofPlace(call.route, id), sealed);
    if (text === undefined) return false;
    const proof = JSON.parse(text) as Proof;
    return proof.digest === digest && proof.identity === identity;
  }

  async #run(route: string, step: Readonly<Record<string, unknown>>): Promise<unknown> {
    return this.#script([this.#prefix(route)], [JSON.stringify(step)]).catch((error: unknown) => {
      throw storeDenial(error);
    });
  }
}
