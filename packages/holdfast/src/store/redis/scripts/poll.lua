--[[ poll: joins queued ids to their owners' leases, serves the queue, returns each id's state.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    patience   ms      silence after which this process counts as dead, or 0
    retention  ms      how long the resource is kept after its last use
    ids...     string  the acquisitions
  REPLY
    polled now next, then for each id: granted fence left hand_offs holds | queued | parked
    | absent
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local patience = tonumber(ARGV[1])
local retention = tonumber(ARGV[2])
local ids = { unpack(ARGV, 3) }
local id = ''
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"

local function standing(id)
  local h = lease_of(id)
  if h then return { 'granted', h.fence, end_of(h, id) - now, h.hand_offs, hold_count(h) } end
  if read('w:' .. id) then return { 'queued' } end
  hear(id)
  return { read_parked(id) and 'parked' or 'absent' }
end

local standings = {}
if not known then
  for index = 1, #ids do standings[index] = { 'absent' } end
  return { 'polled', now, 0, standings }
end
for from = 1, #ids, CHUNK do
  local names = {}
  for at = from, math.min(from + CHUNK - 1, #ids) do
    names[#names + 1] = 'w:' .. ids[at]
    names[#names + 1] = 'r:' .. ids[at]
  end
  load(names)
end
drop_expired()
for _, id in ipairs(ids) do
  hear_process(id, patience)
  local w = read_waiter(id)
  if w then rejoin(w) end
end
serve('')
for index, id in ipairs(ids) do standings[index] = standing(id) end
flush()
return { 'polled', now, next_expiry(), standings }
