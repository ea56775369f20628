/**
 * The scripts of the shared ledger, in Lua. Each runs as one atomic step.
 *
 * A track is a hash. Its entries have increasing numbers as fields, and `end amount answered` as values. `count`,
 * `answered` and `sum` describe the entries that are left; `level:block` is the sum of 32, 1,024 or 32,768 of them, so
 * that the search for an end reads a few dozen fields. A call is a hash with its entries, until it is answered.
 *
 * @module
 */

/** What both scripts use. `now` is undefined in the script that settles. */
const common = `
local WIDTH, LEVELS = 32, 3

local function number(key, field)
  return tonumber(redis.call('HGET', key, field) or 0)
end

local function add(key, field, amount)
  if amount == 0 then return end
  local sum = number(key, field) + amount
  if sum == 0 then redis.call('HDEL', key, field)
  else redis.call('HSET', key, field, string.format('%.0f', sum)) end
end

local function entryAt(track, index)
  local text = redis.call('HGET', track, index)
  if not text then return nil end
  local ends, amount, answered = string.match(text, '^(%d+) (%d+) (%d)$')
  return { ends = tonumber(ends), amount = tonumber(amount), answered = tonumber(answered) }
end

local function addToBlocks(track, index, amount)
  for level = 1, LEVELS do
    index = math.floor(index / WIDTH)
    add(track, level .. ':' .. index, amount)
  end
end

local function remove(track, index, entry)
  redis.call('HDEL', track, index)
  add(track, 'count', -1)
  add(track, 'answered', -entry.answered)
  add(track, 'sum', -entry.amount)
  addToBlocks(track, index, -entry.amount)
end

-- The entries that a call left, without those that have ended and were removed since.
local function entriesOf(call)
  local found = {}
  for _, text in ipairs(redis.call('HVALS', call)) do
    local track, index, ends, amount = string.match(text, '^(%S+) (%d+) (%d+) (%d+)$')
    if track then
      local own = { track = track, index = tonumber(index), amount = tonumber(amount) }
      local entry = entryAt(track, own.index)
      if entry and entry.ends == tonumber(ends) then own.entry = entry end
      table.insert(found, own)
    end
  end
  return found
end

-- Names an entry in the sets that count all. Part of each digest is enough.
local function member(call, track)
  return string.sub(call, -22) .. string.sub(track, -22)
end

local function giveBack(call, entries, all, owner)
  for _, own in ipairs(entries) do
    if own.entry then remove(own.track, own.index, own.entry) end
    redis.call('ZREM', all, member(call, own.track))
    redis.call('ZREM', owner, member(call, own.track))
  end
  redis.call('DEL', call)
end
`;

/**
 * Judges a call and counts it. KEYS: all entries, those of the owner, the call, the round before (the call itself if
 * there is none), the tracks. ARGV: the call as JSON, whose tracks are numbered as in KEYS.
 *
 * Returns whether it passed, then nothing; or `check`, its index and the milliseconds to wait; or `owner` or `all`
 * and the number of entries that are kept.
 */
export const reserveScript = `${common}
local wanted = cjson.decode(ARGV[1])
local all, owner, call, before = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function key(track) return KEYS[4 + track] end

local function removeEnded(track)
  local first, next = number(track, 'first'), number(track, 'next')
  local index = first
  while index < next do
    local entry = entryAt(track, index)
    if entry and entry.ends > now then break end
    if entry then remove(track, index, entry) end
    index = index + 1
  end
  if index > first then redis.call('HSET', track, 'first', index) end
end

-- The time at which entries of the sum \`amount\` will have ended, without the entry \`own\`.
local function endOf(track, amount, own)
  local level, index, isDescending = 0, number(track, 'first'), false
  local next = number(track, 'next')
  while index * WIDTH ^ level < next do
    local entry = level == 0 and entryAt(track, index)
    local sum = level == 0 and (entry and entry.amount or 0) or number(track, level .. ':' .. index)
    if own and math.floor(own.index / WIDTH ^ level) == index then sum = sum - own.amount end
    if sum >= amount then
      if level == 0 then return entry.ends end
      level, index, isDescending = level - 1, index * WIDTH, true
    else
      amount, index = amount - sum, index + 1
      while not isDescending and level < LEVELS and index % WIDTH == 0 do
        level, index = level + 1, index / WIDTH
      end
    end
  end
  return now
end

-- The entries of the round before, if it waits and left the same.
local function roundBefore()
  if redis.call('HGET', before, 'state') ~= 'waiting' then return nil end
  if redis.call('HGET', before, 'owner') ~= owner then return nil end
  local entries = entriesOf(before)
  if #entries ~= #wanted.entries then return nil end
  local amounts = {}
  for _, own in ipairs(entries) do amounts[own.track] = own.amount end
  for _, entry in ipairs(wanted.entries) do
    if amounts[key(entry.track)] ~= entry.amount then return nil end
  end
  return entries
end

for track = 1, #KEYS - 4 do removeEnded(key(track)) end

local round = roundBefore()
local owns, taken = {}, 0
for _, own in ipairs(round or {}) do
  if own.entry then
    owns[own.track] = own
    taken = taken + 1
  end
end

local failed, ends = nil, now
for place, check in ipairs(wanted.checks) do
  local track = key(check.track)
  local own = owns[track]
  local passes
  if check.kind == 'after' then
    passes = number(track, 'answered') > 0
  elseif check.kind == 'never_after' then
    passes = number(track, 'count') == (own and 1 or 0)
  else
    local sum = number(track, 'sum') - (own and own.amount or 0)
    passes = sum + check.amount <= check.limit
    if not passes and sum > 0 then
      ends = math.max(ends, endOf(track, math.min(sum + check.amount - check.limit, sum), own))
    end
  end
  if not passes and not failed then failed = { place - 1, check.kind } end
end
local answer = { 1 }
if failed then
  answer = { wanted.isShadow and 1 or 0, 'check', failed[1], failed[2] == 'quota' and ends - now or 0 }
  if not wanted.isShadow then return answer end
end

for _, set in ipairs({ all, owner }) do
  -- A few at a time: after a quiet night, a call must not wait for all of them.
  local ended = redis.call('ZRANGE', set, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)
  if #ended > 0 then redis.call('ZREMRANGEBYRANK', set, 0, #ended - 1) end
end
for _, bound in ipairs({ { 'owner', owner, wanted.ofOwner }, { 'all', all, wanted.ofAll } }) do
  local kept = redis.call('ZCARD', bound[2])
  if kept + #wanted.entries - taken > bound[3] then
    if failed then return answer end
    return { wanted.isShadow and 1 or 0, bound[1], kept }
  end
end

if round then giveBack(before, round, all, owner) end
local longest = 0
for place, entry in ipairs(wanted.entries) do
  local track = key(entry.track)
  local index = number(track, 'next')
  -- Never before an earlier entry: the clock of the store may go backwards.
  local entryEnds = math.max(now + entry.keepMs, number(track, 'last'))
  local ends, amount = string.format('%.0f', entryEnds), string.format('%.0f', entry.amount)
  redis.call('HSET', track, index, ends .. ' ' .. amount .. ' 0', 'next', index + 1, 'last', ends)
  add(track, 'count', 1)
  add(track, 'sum', entry.amount)
  addToBlocks(track, index, entry.amount)
  redis.call('PEXPIRE', track, entryEnds - now)
  redis.call('HSET', call, 'entry' .. place, track .. ' ' .. index .. ' ' .. ends .. ' ' .. amount)
  for _, set in ipairs({ all, owner }) do
    redis.call('ZADD', set, ends, member(call, track))
    redis.call('PEXPIRE', set, math.max(redis.call('PTTL', set), entryEnds - now))
  end
  longest = math.max(longest, entryEnds - now)
end
if longest > 0 then
  redis.call('HSET', call, 'state', 'pending', 'owner', owner)
  redis.call('PEXPIRE', call, longest)
end
return answer
`;

/** Notes how a call ended. KEYS: all entries, the call. ARGV: the outcome. */
export const settleScript = `${common}
local all, call = KEYS[1], KEYS[2]
if redis.call('HGET', call, 'state') ~= 'pending' then return 0 end
if ARGV[1] == 'waiting' then
  redis.call('HSET', call, 'state', 'waiting')
  return 1
end
local entries = entriesOf(call)
if ARGV[1] == 'returned' then
  giveBack(call, entries, all, redis.call('HGET', call, 'owner'))
  return 1
end
for _, own in ipairs(entries) do
  if own.entry then
    redis.call('HSET', own.track, own.index, string.format('%.0f %.0f 1', own.entry.ends, own.amount))
    add(own.track, 'answered', 1)
  end
end
redis.call('DEL', call)
return 1
`;
