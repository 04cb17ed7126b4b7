--[[ resize: changes the weight of a live lease. More weight: only if it fits, as a new grant.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string
    weight     int     the new weight
    seq        int     the number of this change of the acquisition
    retention  ms
  REPLY
    resized now fence left | refused now fence left | absent now 0 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local weight = tonumber(ARGV[2])
local seq = tonumber(ARGV[3])
local retention = tonumber(ARGV[4])
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"

local function weigh(h)
  local own, last = hold_weight(h, id)
  -- a late duplicate
  if seq <= last then return weight == own and 'resized' or 'refused' end
  if weight == own then
    save_change(h, id, own, seq)
    return 'resized'
  end
  if hold_count(h) > 1 then
    if weight < own or weight > h.weight then
      save_change(h, id, own, seq)
      return 'refused'
    end
    resize_hold(h, id, weight, seq)
    return 'resized'
  end
  if weight > h.weight and not fits(weight - h.weight) then
    save_change(h, id, own, seq)
    return 'refused'
  end
  resize(h, id, weight, seq)
  return 'resized'
end

if not known then return { 'absent', now, 0, 0 } end
drop_expired()
redeliver_signals()
local held = lease_of(id)
local status = held and weigh(held) or 'absent'
serve('')
flush()
if not held then return { status, now, 0, 0 } end
-- a waiter of the owner may have joined and extended the lease
held = lease_of(id)
return { status, now, held.fence, end_of(held, id) - now }
