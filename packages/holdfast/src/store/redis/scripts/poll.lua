--[[ poll: serves the queue if something is due, and says how each of the ids stands.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    retention  ms      how long the resource is remembered
    ids...     string  the acquisitions
  REPLY
    polled now next, then for each id: granted fence left passes holds | queued | parked
    | absent
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local retention = tonumber(ARGV[1])
local ids = { unpack(ARGV, 2) }
local id = ''
--- @include "lib/serve.lua"

local function standing(id)
  local h = lease_of(id)
  if h then return { 'granted', h.fence, h.expires - now, h.passes, hold_count(h) } end
  if read('w:' .. id) then return { 'queued' } end
  hear(id)
  return { read_parked(id) and 'parked' or 'absent' }
end

local standings = {}
if not known then
  for index = 1, #ids do standings[index] = { 'absent' } end
  return { 'polled', now, 0, standings }
end
drop_expired()
serve('')
for index, id in ipairs(ids) do standings[index] = standing(id) end
flush()
return { 'polled', now, next_expiry(), standings }
