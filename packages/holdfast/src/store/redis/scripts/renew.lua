--[[ renew: extends a live lease to at least `ttl` from now. Never shortens or restores a lease.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string
    ttl        ms      of the lease from now on
    retention  ms
    channel    string  from now on; '' or left out if it stays
    tasks      number  as in acquire.lua; left out if it stays
  REPLY
    renewed now left | absent now 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local ttl = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local channel, tasks = ARGV[4], tonumber(ARGV[5])
--- @include "lib/peek-to-write.lua"

--- @include "short/renew.lua"
--- @include "lib/serve.lua"

if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
if held then
  if channel and channel ~= '' then address(held, id, channel) end
  held.tasks = tasks or held.tasks
  extend(held, id, now + ttl * 1000)
end
serve('')
flush()
if not held then return { 'absent', now, 0 } end
return { 'renewed', now, end_of(lease_of(id), id) - now }
