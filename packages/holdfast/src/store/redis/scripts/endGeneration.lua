--[[ endGeneration: ends a generation of a gate and begins the next one, if it is the current one.
  Unexplained words: see arrive.lua.
  KEYS
    gate       hash
    arrivals   hash
    past       hash
    expiries   zset
  ARGV
    name       string
    kind       string
    count      int     0 if the reason is deleted
    generation us      the generation to end
    ttl        ms      life of a latch without an arrival
    retention  ms
    reason     string  why the generation is broken, used if it is not open
  REPLY
    as in arrive.lua
]]
--- @include "lib/gate-arguments.lua"
local reason = ARGV[7]
local channel, token = '', ''
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
