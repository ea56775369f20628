import { MAX_REQUEST_BYTES } from './book.ts';

/**
 * The script of the shared book of approvals, in Lua: one atomic step. KEYS: the prefix of a route. ARGV: the
 * step as JSON, with `op`; `ask` is followed by the head and the body of a new request.
 *
 * A request is a hash `r:ID` (`status ends head body proof until owner binding bytes`). `live` has the ids of those
 * that live by their end, `o:OWNER` those of one caller, `b:BINDING` the id for a call, `n:ROUND` the id for its next
 * round with its proof, and `u:SHA1` marks a proof that was used or withdrawn. A replica believes only what is sealed
 * in an answer: a writer of the store can change all else. What cannot be of a replica (of another type, too long, no
 * number) is deleted: it must neither end a step for all, nor make one long.
 *
 * No step reads much: the bodies of requests are read one at a time, and lists have `pageBytes` of heads. Returns the
 * number of foreign values, and the answer of the step.
 */
export const approvalScript = `
local p, step = KEYS[1], cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local DAY = 86400000
-- The longest text of a request that is sealed: ${MAX_REQUEST_BYTES} bytes as JSON.
local LONGEST = ${2 * MAX_REQUEST_BYTES}
local foreign = 0

local function discard(name)
  foreign = foreign + redis.call('DEL', name)
end

local function key(id) return p .. 'r:' .. id end
local function isDigest(text) return #text < 64 and string.find(text, '^[%w_-]+$') ~= nil end
-- At most the latest time of JavaScript.
local function isNumber(text)
  return #text < 24 and string.find(text, '^%d+%.?%d*$') ~= nil and tonumber(text) <= 8.64e15
end
local function isSealed(text) return #text > 0 end
local states = { pending = 1, approved = 1, denied = 1, expired = 1, used = 1 }
local fields = { status = function(text) return states[text] ~= nil end, ends = isNumber, bytes = isNumber,
  owner = isDigest, binding = isDigest, head = isSealed, body = isSealed, proof = isSealed,
  ['until'] = isNumber }
local optional = { proof = 1, ['until'] = 1 }

-- Deletes a key of another type.
local function typed(name, kind)
  local found = redis.call('TYPE', name).ok
  if found ~= kind and found ~= 'none' then discard(name) end
  return found == kind
end

-- A key that is a text, or ''.
local function textAt(name)
  if not typed(name, 'string') then return '' end
  if redis.call('STRLEN', name) > LONGEST then discard(name) end
  return redis.call('GET', name) or ''
end

-- Whether there is a request that a replica could have written.
local function has(id)
  local isOwn = isDigest(id)
  local isWhole = isOwn and typed(key(id), 'hash')
  if isWhole then
    for field, fits in pairs(fields) do
      local length = redis.call('HSTRLEN', key(id), field)
      local isMissing = length == 0 and redis.call('HEXISTS', key(id), field) == 0
      local isGood = isMissing and optional[field] ~= nil
      if not isMissing and length <= LONGEST then isGood = fits(redis.call('HGET', key(id), field)) end
      if not isGood then isWhole = false end
    end
  end
  if isWhole then
    typed(p .. 'o:' .. redis.call('HGET', key(id), 'owner'), 'zset')
    return true
  end
  if isOwn then discard(key(id)) else foreign = foreign + 1 end
  redis.call('ZREM', p .. 'live', id)
  redis.call('ZREM', p .. 'waiting', id)
  return false
end

local function get(id, field) return redis.call('HGET', key(id), field) end
local function row(id)
  local v = redis.call('HMGET', key(id), 'status', 'ends', 'body', 'proof')
  return id, v[1], v[2], v[3], v[4] or ''
end
local function markOf(proof) return p .. 'u:' .. redis.sha1hex(proof) end

-- A proof counts once. The clocks of replicas, by which it ends, differ by less than the day.
local function spend(proof, untilMs)
  redis.call('SET', markOf(proof), '1', 'PX', math.max(0, math.min(untilMs - now, 1e17)) + DAY)
end

-- What is kept of several requests lives as long as the longest.
local function outlive(names, lives)
  for _, name in ipairs(names) do
    if redis.call('PTTL', p .. name) < lives then redis.call('PEXPIRE', p .. name, lives) end
  end
end

-- Takes a request out of those that live. It can be read for a while.
local function leave(id, status, overMs)
  local v = redis.call('HMGET', key(id), 'owner', 'binding', 'bytes', 'proof', 'until', 'ends')
  if redis.call('ZREM', p .. 'live', id) == 1 then
    redis.call('DECRBY', p .. 'bytes', v[3])
    redis.call('ZREM', p .. 'waiting', id)
    redis.call('ZREM', p .. 'o:' .. v[1], id)
    if textAt(p .. 'b:' .. v[2]) == id then redis.call('DEL', p .. 'b:' .. v[2]) end
  end
  if v[4] then spend(v[4], tonumber(v[5] or v[6]) or now) end
  redis.call('HSET', key(id), 'status', status, 'ends', now + overMs)
  redis.call('PEXPIRE', key(id), overMs)
end

local function enter(id, owner, binding, bytes, status, ends)
  local lives = math.max(1, ends - now) + DAY
  redis.call('HSET', key(id), 'status', status, 'ends', ends)
  redis.call('PEXPIRE', key(id), lives)
  redis.call('ZADD', p .. 'live', ends, id)
  if status == 'pending' then redis.call('ZADD', p .. 'waiting', ends, id) end
  redis.call('ZADD', p .. 'o:' .. owner, ends, id)
  redis.call('SET', p .. 'b:' .. binding, id, 'PX', lives)
  redis.call('INCRBY', p .. 'bytes', bytes)
  outlive({ 'live', 'waiting', 'bytes', 'o:' .. owner }, lives)
end

local function change(id, status, ends)
  redis.call('HSET', key(id), 'status', status, 'ends', ends)
  redis.call('ZADD', p .. 'live', ends, id)
  redis.call('ZADD', p .. 'o:' .. get(id, 'owner'), ends, id)
  redis.call('ZREM', p .. 'waiting', id)
  local lives = math.max(1, ends - now) + DAY
  redis.call('PEXPIRE', key(id), lives)
  redis.call('PEXPIRE', p .. 'b:' .. get(id, 'binding'), lives)
  outlive({ 'live', 'bytes', 'o:' .. get(id, 'owner') }, lives)
end

-- The state of a request, or nil. What has ended and was not swept yet does not live.
local function stateOf(id)
  if not has(id) or tonumber(get(id, 'ends')) <= now then return nil end
  return get(id, 'status')
end

local function counted(set) return redis.call('ZCOUNT', set, '(' .. now, '+inf') end

local function bytesOf(set)
  local sum = 0
  for _, id in ipairs(redis.call('ZRANGE', set, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, step.ofOwner)) do
    sum = sum + (has(id) and tonumber(get(id, 'bytes')) or 0)
  end
  return sum
end

typed(p .. 'live', 'zset')
typed(p .. 'waiting', 'zset')
if not isNumber(textAt(p .. 'bytes')) then discard(p .. 'bytes') end

local steps = {}

function steps.ask()
  typed(p .. 'o:' .. step.owner, 'zset')
  if step.round ~= '' then
    local id, proof = string.match(textAt(p .. 'n:' .. step.round), '^(%S+) (%S+)$')
    if id and stateOf(id) == 'used' and get(id, 'binding') == step.binding then
      redis.call('DEL', p .. 'n:' .. step.round)
      if redis.call('EXISTS', markOf(proof)) == 1 then return { 'spent' } end
      spend(proof, now + step.overMs)
      local own, status, ends, body = row(id)
      return { 'again', 0, own, status, ends, body, proof }
    end
  end
  local id = textAt(p .. 'b:' .. step.binding)
  local status = id ~= '' and stateOf(id)
  if status == 'approved' then
    local proof = get(id, 'proof') or ''
    local isSpent = redis.call('EXISTS', markOf(proof)) == 1
    leave(id, 'used', step.overMs)
    if isSpent then return { 'spent' } end
    return { 'taken', 0, row(id) }
  end
  if status == 'pending' then return { 'waiting', 0, row(id) } end
  if status == 'denied' then return { 'denied', 0, row(id) } end
  local size, own = #ARGV[3] + #ARGV[2], p .. 'o:' .. step.owner
  if counted(own) >= step.ofOwner then return { 'full', counted(own) .. ' of this caller are kept' } end
  local ownBytes = bytesOf(own)
  if ownBytes + size > step.bytesOfOwner then return { 'full', ownBytes .. ' bytes of this caller are kept' } end
  local all = counted(p .. 'live')
  if all >= step.ofAll then return { 'full', all .. ' are kept' } end
  local bytes = tonumber(redis.call('GET', p .. 'bytes') or 0)
  if bytes + size > step.bytes then return { 'full', bytes .. ' bytes are kept' } end
  redis.call('HSET', key(step.id), 'head', ARGV[2], 'body', ARGV[3], 'owner', step.owner, 'binding', step.binding,
    'bytes', size)
  enter(step.id, step.owner, step.binding, size, 'pending', now + step.waitMs)
  return { 'waiting', 1, row(step.id) }
end

function steps.settle()
  if stateOf(step.id) ~= 'used' then return 0 end
  if step.round ~= '' then
    redis.call('SET', p .. 'n:' .. step.round, step.id .. ' ' .. step.proof, 'PX', step.overMs)
    redis.call('PEXPIRE', key(step.id), step.overMs)
    redis.call('HSET', key(step.id), 'ends', now + step.overMs)
    return 1
  end
  local v = redis.call('HMGET', key(step.id), 'owner', 'binding', 'bytes', 'until')
  if not v[4] or tonumber(v[4]) <= now then return 0 end
  local newer = textAt(p .. 'b:' .. v[2])
  if newer ~= '' and has(newer) then leave(newer, 'expired', 60000) end
  redis.call('HSET', key(step.id), 'proof', step.proof)
  enter(step.id, v[1], v[2], v[3], 'approved', tonumber(v[4]))
  return 1
end

function steps.decide()
  if not has(step.id) then return nil end
  local status, done = stateOf(step.id), 0
  for _, from in ipairs(step.from) do if from == status then done = 1 end end
  if done == 1 and step.to == 'approved' then
    redis.call('HSET', key(step.id), 'proof', step.proof, 'until', now + step.validMs)
    change(step.id, 'approved', now + step.validMs)
  elseif done == 1 and step.to == 'denied' then change(step.id, 'denied', tonumber(get(step.id, 'ends')))
  elseif done == 1 then leave(step.id, 'expired', step.overMs) end
  if not status then leave(step.id, 'expired', step.overMs) end
  return { done, row(step.id) }
end

function steps.find()
  if not has(step.id) then return nil end
  local id, status, ends, body, proof = row(step.id)
  if not stateOf(id) then status = 'expired' end
  return { id, status, ends, body, proof }
end

function steps.list()
  local from, bytes = step.from, 0
  local ids = redis.call('ZRANGE', p .. 'live', from, from + step.page - 1)
  if #ids == 0 then return { -1 } end
  local found = { from }
  for _, id in ipairs(ids) do
    if has(id) then
      local state = tonumber(get(id, 'ends')) > now and get(id, 'status') or 'expired'
      local v = redis.call('HMGET', key(id), 'ends', 'head')
      table.insert(found, { id, state, v[1], v[2], '' })
      found[1] = found[1] + 1
      bytes = bytes + #v[2]
    end
    if bytes >= step.pageBytes then break end
  end
  return found
end

function steps.expire()
  local status = stateOf(step.id)
  if status and status ~= 'used' and status ~= 'expired' then leave(step.id, 'expired', step.overMs) end
  return 1
end

function steps.sweep()
  local found = { 0 }
  for _, id in ipairs(redis.call('ZRANGE', p .. 'live', '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
    local status = has(id) and get(id, 'status')
    if status then leave(id, 'expired', step.overMs) end
    if status and status ~= 'denied' then table.insert(found, id) end
  end
  if redis.call('ZCARD', p .. 'live') == 0 then redis.call('DEL', p .. 'bytes') end
  found[1] = counted(p .. 'waiting')
  redis.call('ZREMRANGEBYSCORE', p .. 'waiting', '-inf', now)
  return found
end

local answer = steps[step.op]()
return { foreign, answer }
`;
