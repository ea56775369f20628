/**
 * The scripts of the shared ledger, in Lua. Each runs as one atomic step, while the store answers nothing else: its
 * work MUST NOT grow with the number of entries that have ended.
 *
 * A track is a tree. Its entries have increasing numbers, and end in that order. A node of level 1, 2 or 3 describes
 * 32, 1,024 or 32,768 of them, and one node all of them, as text: `count answered sum end`, without those that were
 * removed. `end` is that of the last entry that was added. An entry is a node of level 0. A node that has ended is
 * removed with all that is below it. After the first 1,024, the entries of each node of level 2 are a hash of their
 * own, because a store takes long to let a key with 100,000 fields expire.
 *
 * What bounds the entries of a caller, and of all, counts them in buckets: those that end in the same 256th of a
 * window. A bucket counts until its last entry ends. A call is a hash with its entries, until it is answered.
 *
 * @module
 */

/** The common part of both scripts. `now` is undefined in the script that settles. */
const common = `
local WIDTH, LEVELS, WHOLE, BUCKETS = 32, 3, 4, 256

local function number(key, field)
  return tonumber(redis.call('HGET', key, field) or 0)
end

-- The key that has an entry.
local function holderOf(track, index)
  local part = math.floor(index / WIDTH ^ 2)
  return part == 0 and track or track .. ':' .. part
end

-- The key and the field of a node.
local function placeOf(track, level, index)
  if level == WHOLE then return track, 'all' end
  if level == 0 then return holderOf(track, index), index end
  return level == 1 and holderOf(track, index * WIDTH) or track, level .. ':' .. index
end

local function nodeAt(track, level, index)
  local text = redis.call('HGET', placeOf(track, level, index))
  if not text then return nil end
  local count, answered, sum, ends = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return { count = tonumber(count), answered = tonumber(answered), sum = tonumber(sum), ends = tonumber(ends) }
end

local nothing = { count = 0, answered = 0, sum = 0, ends = 0 }

-- Changes the nodes that an entry is in, from a level on.
local function change(track, level, index, by, sign)
  for above = level, WHOLE do
    local node = nodeAt(track, above, index) or nothing
    local count = node.count + sign * by.count
    local key, field = placeOf(track, above, index)
    if count == 0 then redis.call('HDEL', key, field)
    else
      redis.call('HSET', key, field, string.format('%.0f %.0f %.0f %.0f', count, node.answered + sign * by.answered,
        node.sum + sign * by.sum, math.max(node.ends, by.ends)))
    end
    index = math.floor(index / WIDTH)
  end
end

local function bucketOf(ends, keepMs)
  return keepMs .. ':' .. math.floor(ends / math.max(1, math.floor(keepMs / BUCKETS)))
end

-- Adds an entry to what bounds entries, or takes it away.
local function charge(set, entry, sign)
  local bucket = bucketOf(entry.ends, entry.keepMs)
  local text = redis.call('HGET', set, bucket)
  -- Its bucket has ended.
  if not text and sign < 0 then return end
  local count, ends = string.match(text or '0 0', '^(%d+) (%d+)$')
  count, ends = count + sign, math.max(tonumber(ends), entry.ends)
  if count == 0 then redis.call('HDEL', set, bucket)
  else redis.call('HSET', set, bucket, string.format('%.0f %.0f', count, ends)) end
  redis.call('HINCRBY', set, 'count', sign)
end

-- The entries that a call left. Those that have ended and were removed since have no node.
local function entriesOf(call)
  local found = {}
  for _, text in ipairs(redis.call('HVALS', call)) do
    local track, index, ends, amount, keepMs = string.match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
    if track then
      local own = { track = track, index = tonumber(index), ends = tonumber(ends), amount = tonumber(amount) }
      own.keepMs = tonumber(keepMs)
      local node = nodeAt(track, 0, own.index)
      if node and node.ends == own.ends then own.node = node end
      table.insert(found, own)
    end
  end
  return found
end

local function giveBack(call, entries, all, owner)
  for _, own in ipairs(entries) do
    if own.node then change(own.track, 0, own.index, own.node, -1) end
    charge(all, own, -1)
    charge(owner, own, -1)
  end
  redis.call('DEL', call)
end
`;

/**
 * Judges a call and counts it. KEYS: all entries, those of the owner, the call, the round before (the call itself if
 * there is none), the tracks, and one that never exists. ARGV: the call as JSON, whose tracks are numbered as in KEYS.
 *
 * Returns whether it passed, then nothing; or `check`, its index and the milliseconds to wait; or `owner` or `all`
 * and the number of entries that are kept.
 */
const reserve = `${common}
local wanted = cjson.decode(ARGV[1])
local all, owner, call, before = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function key(track) return KEYS[4 + track] end

-- Removes what is below a node.
local function clear(track, level, index)
  if level == 3 then
    for part = index * WIDTH, index * WIDTH + WIDTH - 1 do
      clear(track, 2, part)
      redis.call('HDEL', track, '2:' .. part)
    end
  elseif level == 2 and index > 0 then redis.call('UNLINK', track .. ':' .. index)
  elseif level == 2 then
    for block = 0, WIDTH - 1 do
      clear(track, 1, block)
      redis.call('HDEL', track, '1:' .. block)
    end
  elseif level == 1 then
    local fields = {}
    for entry = index * WIDTH, index * WIDTH + WIDTH - 1 do table.insert(fields, entry) end
    redis.call('HDEL', holderOf(track, index * WIDTH), unpack(fields))
  end
end

local function removeEnded(track)
  local first, next = number(track, 'first'), number(track, 'next')
  -- No bound lets this number of entries live: a replica wrote neither, and the walk to it would never end.
  if not (next - first <= 1e8) then error('a track that no replica wrote') end
  local level, index = LEVELS, first
  while index < next do
    local place = math.floor(index / WIDTH ^ level)
    local node = nodeAt(track, level, place)
    if node and node.ends > now then
      if level == 0 then break end
      level = level - 1
    else
      if node then
        clear(track, level, place)
        change(track, level, place, node, -1)
      end
      index = (place + 1) * WIDTH ^ level
      while level < LEVELS and index % WIDTH ^ (level + 1) == 0 do level = level + 1 end
    end
  end
  -- A node that is not full yet may have been removed: the next entry is in it.
  index = math.min(index, next)
  if index > first then redis.call('HSET', track, 'first', index) end
end

-- The number of entries that count for a bound.
local function entriesIn(set)
  if number(set, 'ends') > now then return number(set, 'count') end
  local fields, count, ends = redis.call('HGETALL', set), 0, math.huge
  for place = 1, #fields, 2 do
    local ofBucket, last = string.match(fields[place + 1], '^(%d+) (%d+)$')
    if ofBucket and tonumber(last) <= now then redis.call('HDEL', set, fields[place])
    elseif ofBucket then count, ends = count + ofBucket, math.min(ends, tonumber(last)) end
  end
  if count == 0 then redis.call('DEL', set)
  else redis.call('HSET', set, 'count', count, 'ends', string.format('%.0f', ends)) end
  return count
end

-- The time at which entries of the sum \`amount\` will have ended, without the entry \`own\`.
local function endOf(track, amount, own)
  local level, index, isDescending = 0, number(track, 'first'), false
  local next = number(track, 'next')
  while index * WIDTH ^ level < next do
    local node = nodeAt(track, level, index) or nothing
    local sum = node.sum
    if own and math.floor(own.index / WIDTH ^ level) == index then sum = sum - own.amount end
    if sum >= amount then
      if level == 0 then return node.ends end
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

for track = 1, #KEYS - 5 do removeEnded(key(track)) end

local round = roundBefore()
local owns, taken = {}, 0
for _, own in ipairs(round or {}) do
  if own.node then
    owns[own.track] = own
    taken = taken + 1
  end
end

local failed, ends = nil, now
for place, check in ipairs(wanted.checks) do
  local track = key(check.track)
  local own = owns[track]
  local whole = nodeAt(track, WHOLE, 0) or nothing
  local passes
  if check.kind == 'after' then
    passes = whole.answered > 0
  elseif check.kind == 'never_after' then
    passes = whole.count == (own and 1 or 0)
  else
    local sum = whole.sum - (own and own.amount or 0)
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

for _, bound in ipairs({ { 'owner', owner, wanted.ofOwner }, { 'all', all, wanted.ofAll } }) do
  local kept = entriesIn(bound[2])
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
  local ends = math.max(now + entry.keepMs, (nodeAt(track, WHOLE, 0) or nothing).ends)
  change(track, 0, index, { count = 1, answered = 0, sum = entry.amount, ends = ends }, 1)
  redis.call('HSET', track, 'next', index + 1)
  redis.call('PEXPIRE', track, ends - now)
  redis.call('PEXPIRE', holderOf(track, index), ends - now)
  redis.call('HSET', call, 'entry' .. place,
    string.format('%s %.0f %.0f %.0f %.0f', track, index, ends, entry.amount, entry.keepMs))
  for _, set in ipairs({ all, owner }) do
    charge(set, { ends = ends, keepMs = entry.keepMs }, 1)
    local first = number(set, 'ends')
    if first == 0 or ends < first then redis.call('HSET', set, 'ends', string.format('%.0f', ends)) end
    redis.call('PEXPIRE', set, math.max(redis.call('PTTL', set), ends - now))
  end
  longest = math.max(longest, ends - now)
end
if longest > 0 then
  redis.call('HSET', call, 'state', 'pending', 'owner', owner)
  redis.call('PEXPIRE', call, longest)
end
return answer
`;

/** Notes how a call ended. KEYS: all entries, the call. ARGV: the outcome. */
const settle = `${common}
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
  if own.node then change(own.track, 0, own.index, { count = 0, answered = 1, sum = 0, ends = 0 }, 1) end
end
redis.call('DEL', call)
return 1
`;

/** The scripts of the ledger. */
export const ledgerScripts: { readonly reserve: string; readonly settle: string } = { reserve, settle };
