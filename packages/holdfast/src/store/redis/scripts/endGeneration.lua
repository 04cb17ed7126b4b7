--[[ endGeneration: ends a generation of a gate and begins the next one, if it is the current one.
  KEYS
    gate       hash    main record
    arrivals   hash    by id, of the current generation
    past       hash    by id, of the one before
    expiries   zset    arrivals by expiry, of a barrier
  ARGV
    name       string  the key, repeated in pushes
    kind       string  latch or barrier
    count      int     arrivals that open the gate; 0 if the reason is deleted
    generation us      the generation to end
    ttl        ms      life of a latch without an arrival
    retention  ms      kept after its end
    reason     string  why the generation is broken, used if it is not open
  REPLY
    gate now generation fate reason rank sure current missing next agreed | other now kind count
]]
--- @include "lib/gate-arguments.lua"
local reason = ARGV[7]
--- @include "lib/gate.lua"

if not g then return none_written(generation) end
break_expired()
local ends = generation == g.generation and g.count > 0
if differs() or ends and reason ~= 'deleted' and not suits(count) then
  flush()
  return other()
end
if ends then
  end_generation(reason, count)
  g.retention = retention
  if kind == 'latch' then g.ends = now + ttl * 1000 end
end
flush()
return status(generation, '')
