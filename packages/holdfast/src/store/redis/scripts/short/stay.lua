--- @include "lib/clock.lua"
--- @include "lib/gate-peek.lua"
-- A process keeps its only arrival at a barrier alive.
-- Earns 32 % of the time of `watch`.
local function stay(id)
  local _, _, agreed, current, _, missing, ends, _, _, arrived = cmsgpack.unpack_limit(seen, 9)
  local till = now + ttl * 1000
  if generation ~= current or till > ends then return nil end
  if redis.call('HLEN', arrivals) ~= arrived then return nil end
  -- a part of a key is never lost, so one expiry shows that all are there; a latch has none
  local first, at, _, next_at = unpack(redis.call('ZRANGE', expiries, 0, 1, 'WITHSCORES'))
  if not first or tonumber(at) <= now then return nil end
  local moved = redis.pcall('ZADD', expiries, 'XX', 'GT', 'CH', string.format('%.0f', till), id)
  -- a server that is out of memory: see lib/record.lua
  if type(moved) ~= 'number' then return nil end
  local due = tonumber(at)
  if moved > 0 and first == id then due = math.min(till, tonumber(next_at) or till) end
  local waiting = redis.call('HLEN', gate) - 1
  return {
    'gate', now, generation, 'closed', '', -1, 1, current, missing, due - now, agreed, waiting,
  }
end

if seen and #ids == 1 and kind == 'barrier' and count == 0
  and (channel == '' or known == token) then
  local reply = stay(ids[1])
  if reply then return reply end
end
