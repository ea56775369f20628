/**
 * The script of the shared book of approvals, in Lua: one atomic step. KEYS: the prefix of a route. ARGV: the
 * step as JSON, with `op`.
 *
 * A request is a hash `r:ID` (`status ends body proof owner binding bytes created`). `live` has the ids of those that
 * live by their end, `o:OWNER` those of one caller, `b:BINDING` the id for a call, `n:ROUND` the id for its next round.
 *
 * @module
 */

export const approvalScript = `
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
