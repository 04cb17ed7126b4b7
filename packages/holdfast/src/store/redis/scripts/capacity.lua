--[[ capacity: changes the capacity of a resource in use. Ends no lease.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    from       int     the capacity before the change, as the caller knows it
    wanted     int     the capacity from now on
    retention  ms      how long the resource is kept after its last use
  REPLY
    changed now capacity | mismatch now capacity | absent now 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local from = tonumber(ARGV[1])
local wanted = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local id = ''
--- @include "lib/peek.lua"
--- @include "lib/serve.lua"

if not known then return { 'absent', now, 0 } end
drop_expired()
redeliver_signals()
local idle = used == 0 and waiting == 0
local agreed = capacity == from or capacity == wanted
-- signals work only at a capacity of 1
if (agreed or idle) and parked_count() == 0 then set_capacity(wanted) end
serve('')
flush()
return { capacity == wanted and 'changed' or 'mismatch', now, capacity }
