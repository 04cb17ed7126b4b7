--[[ watch: shows a generation, extends the life of arrivals, creates the gate if there is none.
  KEYS
    gate       hash    main record
    arrivals   hash    by id, of the current generation
    past       hash    by id, of the one before
    expiries   zset    arrivals by expiry, of a barrier
  ARGV
    name       string  the key, repeated in pushes
    kind       string  latch or barrier
    count      int     arrivals that open the gate; 0: read only
    generation us      the generation to show, 0 for the current one
    ttl        ms      life of the arrivals from now on, or of a new latch
    retention  ms      kept after its end
    channel    string  for the push of the generation's end, or ''
    token      string  the push repeats it, or ''
    ids...     string  the arrivals
  REPLY
    gate now generation fate reason rank sure current missing next agreed | other now kind count
]]
--- @include "lib/gate-arguments.lua"
local channel = ARGV[7]
local token = ARGV[8]
local ids = { unpack(ARGV, 9) }
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
  for _, id in ipairs(ids) do
    if redis.call('ZSCORE', expiries, id) then extend(id, now + ttl * 1000) end
  end
  listen(channel, token)
end
flush()
return status(generation, '')
