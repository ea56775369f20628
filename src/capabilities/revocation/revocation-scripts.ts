/** @module The scripts of the revocations that replicas share, in Lua: each is one atomic step. */

/** The longest sealed entry that is read: an attacker with write access could make it of any length. */
export const MAX_BYTES = 16 * 1024;

/** The value of a field of KEYS[1]. One that is too long is foreign: it must not make a step long. */
const boundedParts = `
local function valueAt(field)
  if redis.call('HSTRLEN', KEYS[1], field) > ${MAX_BYTES} then return 'too long' end
  return redis.call('HGET', KEYS[1], field)
end
`;

/**
 * KEYS: as in `keepScript`. Deletes what no replica could have written: a value of another type, places that no number
 * of the counter is. The counter is never below the last place: else what comes next would stand before what replicas
 * have read, and they would never read it.
 */
const soundParts = `${boundedParts}
local foreign = 0
for index, kind in ipairs({ 'hash', 'zset', 'zset', 'string' }) do
  local found = redis.call('TYPE', KEYS[index]).ok
  if found ~= kind and found ~= 'none' then foreign = foreign + redis.call('DEL', KEYS[index]) end
end
foreign = foreign + redis.call('ZREMRANGEBYSCORE', KEYS[2], '(4503599627370496', '+inf')
local newest = tonumber(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or 0)
local counted = redis.call('GETRANGE', KEYS[4], 0, 15)
counted = #counted < 16 and string.match(counted, '^%d+$') and tonumber(counted) or -1
if counted < newest then
  local left = redis.call('PTTL', KEYS[2])
  redis.call('SET', KEYS[4], string.format('%.0f', newest))
  if left > 0 then redis.call('PEXPIRE', KEYS[4], left) end
  counted = newest
end
`;

/** KEYS: the entries, their order, their arrival, and the counter. Returns its number, and how much was foreign. */
export const newestScript: string = `${soundParts}
return { counted, foreign }
`;

/**
 * KEYS: the entries by their field, their order, their arrival, the counter, and the id of the event. ARGV: the most
 * entries, the time before which they are forgotten (ms), the life of an entry (ms), the life of the id (ms, '' without
 * one), then six for each entry: its field, time, arrival (ms) and value, and field and value of the entry that takes
 * its place when there is no room. The later time of two entries counts. Returns what became of the event, then field
 * and value of each entry that was left as it was: a writer of the store could have made its time.
 */
export const keepScript: string = `${soundParts}
if ARGV[4] ~= '' and redis.call('EXISTS', KEYS[5]) == 1 then return { 'repeated' } end
local ended = redis.call('ZRANGE', KEYS[3], '-inf', ARGV[2], 'BYSCORE', 'LIMIT', 0, 100)
if #ended > 0 then
  redis.call('HDEL', KEYS[1], unpack(ended))
  redis.call('ZREM', KEYS[2], unpack(ended))
  redis.call('ZREM', KEYS[3], unpack(ended))
end
local result = { 'kept' }
local function put(field, at, arrived, value)
  local before = valueAt(field)
  local beforeAt = before and tonumber(string.match(before, '^%d+ ') or '')
  if beforeAt and beforeAt >= tonumber(at) then
    table.insert(result, field)
    table.insert(result, before)
    if redis.call('ZSCORE', KEYS[2], field) then return end
  else redis.call('HSET', KEYS[1], field, value) end
  redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[4]), field)
  redis.call('ZADD', KEYS[3], arrived, field)
end
for index = 5, #ARGV, 6 do
  local isNew = redis.call('HEXISTS', KEYS[1], ARGV[index]) == 0
  if isNew and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[1]) then
    result[1] = 'full'
    put(ARGV[index + 4], string.match(ARGV[index + 5], '^%d+'), ARGV[index + 2], ARGV[index + 5])
  else
    put(ARGV[index], ARGV[index + 1], ARGV[index + 2], ARGV[index + 3])
  end
end
for index = 1, 4 do
  if redis.call('PTTL', KEYS[index]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[index], ARGV[3]) end
end
if ARGV[4] ~= '' then redis.call('SET', KEYS[5], '1', 'PX', ARGV[4]) end
return result
`;

/** KEYS: the entries. ARGV: fields. Returns the value of each, false where it has none. */
export const valuesScript: string = `${boundedParts}
local values = {}
for index, field in ipairs(ARGV) do values[index] = valueAt(field) end
return values
`;

/** KEYS: the entries. ARGV: fields, each with its value. Removes those that still have it. */
export const removeScript: string = `
for index = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[index]) == ARGV[index + 1] then redis.call('HDEL', KEYS[1], ARGV[index]) end
end
return 1
`;

/** KEYS: the order. ARGV: fields. Returns 1 for each that has a place in it, else 0. */
export const placedScript: string = `
local placed = {}
for index, field in ipairs(ARGV) do placed[index] = redis.call('ZSCORE', KEYS[1], field) and 1 or 0 end
return placed
`;

/**
 * KEYS: the lease. ARGV: what it is expected to hold ('' for nothing), its next value, and its life (ms). Returns 1, or
 * the beginning of what it holds instead.
 */
export const leaseScript: string = `
local value = redis.pcall('GETRANGE', KEYS[1], 0, 1023)
-- Of another type.
if type(value) == 'table' then
  redis.call('DEL', KEYS[1])
  value = ''
end
if value ~= ARGV[1] then return value end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`;
