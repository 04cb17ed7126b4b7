--[[ arrive: counts an arrival in a generation of a gate, once for each id.
  KEYS
    gate       hash    main record
    arrivals   hash    by id, of the current generation
    past       hash    by id, of the one before
    expiries   zset    arrivals by expiry, of a barrier
  ARGV
    name       string  the key, repeated in pushes
    kind       string  latch or barrier
    count      int     arrivals that open the gate
    generation us      the generation to count in
    ttl        ms      life of a latch without another arrival, or of a barrier's arrival
    retention  ms      kept after its end
    channel    string  for the push of the generation's end, or ''
    token      string  the push repeats it, or ''
    id         string  the arrival
    by         int     arrivals to count
  REPLY
    gate now generation fate reason rank sure current missing next agreed waiting
    | other now kind count
]]
--- @include "lib/gate-arguments.lua"
local channel = ARGV[7]
local token = ARGV[8]
local id = ARGV[9]
local by = tonumber(ARGV[10])
--- @include "lib/gate.lua"

local function arrive()
  g.missing = math.max(0, g.missing - by)
  g.arrived = g.arrived + 1
  redis.call('HSET', arrivals, id, g.missing)
  if g.kind == 'latch' then
    g.ends = g.missing == 0 and now or math.max(g.ends, now + ttl * 1000)
    if g.missing == 0 then tell(generation) end
  elseif g.missing == 0 then
    next_generation(g.count)
  else
    extend(id, now + ttl * 1000, 'CH')
  end
end

if not g then return none_written(generation) end
break_expired()
revive()
if differs() or (fate(generation) == 'closed' and not suits(count)) then
  flush()
  return other()
end
if fate(generation) == 'closed' then
  if redis.call('HEXISTS', arrivals, id) == 0 then
    g.missing = g.missing + count - g.count
    g.count, g.retention = count, math.max(g.retention, retention)
    arrive()
  end
  if fate(generation) == 'closed' then listen() end
end
flush()
return status(generation, id)
