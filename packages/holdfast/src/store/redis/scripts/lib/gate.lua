--- @include "lib/gate-peek.lua"
--- @include "lib/clock.lua"
--- @include "lib/publish.lua"
-- Gates: the functions of engine/gate.ts.
--
--   gate       s            kind, count, generation, since, missing, ends, retention, past
--                           generation, ids in `arrivals`, ids in `past`, and of each broken
--                           generation its number and the reason
--              c:<channel>  a channel that waits for the current generation; holds its token
--   arrivals   <id>         arrivals that were missing after it, in the current generation
--   past       <id>         the same of the previous generation
--   expiries   <id>         of a barrier: when the arrival ends
--
-- As in lib/record.lua, the script sets the gate's expiry before any other change or push.
--
-- A server may lose one of the four keys (eviction, DEL). Without the current arrivals, a repeated
-- one would count twice; without their expiries, a dead party would count for too long: then the
-- script deletes the gate. Without the previous arrivals, the gate does not know whether an id was
-- counted there.
local CHANNEL_LIMIT, BROKEN_LIMIT, CHUNK = 10000, 64, 1000

local g
if seen then
  g = { broken = {} }
  local list = { cmsgpack.unpack(seen) }
  g.kind, g.count, g.generation, g.since, g.missing, g.ends, g.retention, g.past, g.arrived,
    g.remembered = unpack(list, 1, 10)
  for at = 11, #list do g.broken[at - 10] = list[at] end
end

local function delete_rest()
  if redis.call('EXISTS', arrivals, past, expiries) > 0 then
    redis.call('DEL', arrivals, past, expiries)
  end
end

if g then
  local intact = g.arrived == 0 or redis.call('HLEN', arrivals) == g.arrived
    and (g.kind == 'latch' or redis.call('ZCARD', expiries) == g.arrived)
  if not intact then
    redis.call('DEL', gate)
    delete_rest()
    g, known = nil, nil
  elseif g.remembered > 0 and redis.call('HLEN', past) ~= g.remembered then
    redis.call('DEL', past)
    g.past, g.remembered = 0, 0
  end
end

local function forget_at()
  return math.floor((g.ends + g.retention * 1000) / 1000)
end

if g then redis.call('PEXPIREAT', gate, forget_at()) end

local function flush()
  local at = forget_at()
  local summary = cmsgpack.pack(
    g.kind, g.count, g.generation, g.since, g.missing, g.ends, g.retention, g.past, g.arrived,
    g.remembered, unpack(g.broken))
  -- no other field has changed, and each key has its expiry
  if summary == seen then return end
  redis.call('HSET', gate, 's', summary)
  for _, name in ipairs({ gate, arrivals, past, expiries }) do
    redis.call('PEXPIREAT', name, at)
  end
end

local function reason_of(generation)
  if g.past ~= 0 and generation > g.past and generation < g.generation then generation = g.past end
  for at = 1, #g.broken, 2 do
    if g.broken[at] == generation then return g.broken[at + 1] end
  end
  return ''
end

local function fate(generation)
  if generation > g.generation or generation < g.since then return 'unknown' end
  -- a deleted gate
  if generation == g.generation and g.count == 0 then return 'unknown' end
  if reason_of(generation) ~= '' then return 'broken' end
  return (generation < g.generation or g.missing == 0) and 'open' or 'closed'
end

-- Until `expiries` changes.
local first
local function first_expiry()
  first = first or redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')
  return tonumber(first[2])
end

local function next_due()
  if g.kind == 'latch' then
    return fate(g.generation) == 'closed' and math.max(0, g.ends - now) or 0
  end
  local due = first_expiry()
  return due and math.max(0, due - now) or 0
end

-- Not replicated.
local function tell(generation)
  local fields, tokens, all = {}, {}, redis.call('HGETALL', gate)
  for at = 1, #all, 2 do
    if all[at] ~= 's' then
      fields[#fields + 1] = all[at]
      tokens[all[at]] = all[at + 1]
    end
  end
  table.sort(fields)
  local letter = fate(generation) == 'broken' and 'b' or 'o'
  local head = string.format(
    '%s %.0f %.0f %s ', letter, generation, g.generation, reason_of(generation))
  redis.set_repl(redis.REPL_NONE)
  for _, field in ipairs(fields) do
    -- string.format would cut at a NUL
    publish(string.sub(field, 3), head .. tokens[field] .. ' ' .. name)
  end
  redis.set_repl(redis.REPL_ALL)
  known = false
  for from = 1, #fields, CHUNK do
    redis.call('HDEL', gate, unpack(fields, from, math.min(from + CHUNK - 1, #fields)))
  end
end

local function remember(reason)
  g.broken[#g.broken + 1] = g.generation
  g.broken[#g.broken + 1] = reason
  if #g.broken <= 2 * BROKEN_LIMIT then return end
  g.since = table.remove(g.broken, 1) + 1
  table.remove(g.broken, 1)
end

local function next_generation(wanted)
  local ended = g.generation
  if redis.call('EXISTS', arrivals) == 1 then
    redis.call('RENAME', arrivals, past)
  else
    redis.call('DEL', past)
  end
  redis.call('DEL', expiries)
  first = nil
  g.past, g.remembered, g.arrived = ended, g.arrived, 0
  g.generation = math.max(ended + 1, now)
  g.count, g.missing, g.ends = wanted, wanted, now
  tell(ended)
end

local function end_generation(why, wanted)
  if fate(g.generation) == 'closed' then remember(why) end
  next_generation(wanted)
end

local function break_expired()
  if g.kind == 'latch' then
    if fate(g.generation) ~= 'closed' or g.ends > now then return end
    remember('expired')
    return tell(g.generation)
  end
  local due = first_expiry()
  if due and due <= now then end_generation('expired', g.count) end
  g.ends = math.max(g.ends, now)
end

-- To no earlier time. `which`: XX for an arrival that may not count, or CH.
local function extend(id, ends, which)
  local at = string.format('%.0f', ends)
  if redis.call('ZADD', expiries, which, 'GT', 'CH', at, id) == 0 then return end
  if first and (first[1] == id or ends < (tonumber(first[2]) or math.huge)) then first = nil end
  if ends > g.ends then g.ends = ends + g.retention * 500 end
end

local function listen()
  if channel == '' or known == token then return end
  if redis.call('HLEN', gate) <= CHANNEL_LIMIT then
    redis.call('HSET', gate, 'c:' .. channel, token)
  end
end

local function begin()
  g.kind, g.count, g.missing, g.retention = kind, count, count, retention
  g.ends = kind == 'latch' and now + ttl * 1000 or now
end

local function revive()
  if g.count == 0 and count > 0 and (generation == g.generation or generation == 0) then begin() end
end

local function differs()
  return g.count > 0 and g.kind ~= kind
end

local function suits(wanted)
  return g.count == wanted or (g.kind == 'barrier' and redis.call('HLEN', arrivals) == 0)
end

local function other()
  return { 'other', now, g.kind, g.count }
end

local function status(generation, id)
  local sure, rank = generation == g.generation or generation == g.past, -1
  if sure and id ~= '' then
    rank = tonumber(redis.call('HGET', generation == g.generation and arrivals or past, id) or -1)
  end
  local how = fate(generation)
  local waiting = how == 'closed' and redis.call('HLEN', gate) - 1 or 0
  return {
    'gate', now, generation, how, reason_of(generation), rank, sure and 1 or 0,
    g.generation, g.missing, next_due(), g.count, waiting,
  }
end

local function none(generation)
  return { 'gate', now, generation, 'unknown', '', -1, 0, 0, 0, 0, 0, 0 }
end

-- As in lib/peek-to-write.lua.
local function none_written(generation)
  redis.call('HDEL', gate, '')
  return none(generation)
end
