--[[ watch: shows a generation, extends the life of arrivals, creates the gate if there is none.
  Unexplained words: see arrive.lua.
  KEYS
    gate       hash
    arrivals   hash
    past       hash
    expiries   zset
  ARGV
    name       string
    kind       string
    count      int     0: read only
    generation us      the generation to show, 0 for the current one
    ttl        ms      life of the arrivals from now on, or of a new latch
    retention  ms
    channel    string
    token      string
    ids...     string  the arrivals
  REPLY
    as in arrive.lua
]]
--- @include "lib/gate-arguments.lua"
local channel = ARGV[7]
local token = ARGV[8]
local ids = { unpack(ARGV, 9) }
--- @include "short/stay.lua"
--- @include "lib/gate.lua"

if not g then
  if count == 0 then return none(generation) end
  g = { generation = now, since = now, past = 0, arrived = 0, remembered = 0, broken = {} }
  delete_rest()
  begin()
end
break_expired()
revive()
if generation == 0 then generation = g.generation end
if differs() or (generation == g.generation and count > 0 and not suits(count)) then
  flush()
  return other()
end
if fate(generation) == 'closed' then
  if g.kind == 'barrier' then
    for _, id in ipairs(ids) do extend(id, now + ttl * 1000, 'XX') end
  end
  listen()
end
flush()
return status(generation, '')
