--[[ capacity: changes the capacity of a semaphore in use. Ends no lease.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    from       int     the capacity before the change, as the caller knows it
    wanted     int     the capacity from now on
    retention  ms
  REPLY
    changed now capacity kind | mismatch now capacity kind | absent now 0 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local from = tonumber(ARGV[1])
local wanted = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local id = ''
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"

if not known then return { 'absent', now, 0, 0 } end
drop_expired()
redeliver_signals()
local idle = used == 0 and waiting == 0 and parked_count() == 0
local agreed = capacity == from or capacity == wanted
local changes = idle or kind == 2 and agreed
if changes then set_capacity(2, wanted) end
serve('')
flush()
return { changes and 'changed' or 'mismatch', now, capacity, kind }
