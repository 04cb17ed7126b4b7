--- @include "lib/parking.lua"
-- The holds of owners: a chain, in the order in which they joined.
--
-- The lease stores their number, the first, the last, and how many have the weight of the lease.
-- Each hold stores its lease, the hold before it, the hold after it, its weight and its channel. So
-- adding or removing a hold has a constant cost, except when the last of the heaviest holds is
-- removed.
local HOLD_LIMIT = 1000

local function read_hold(id)
  local packed = read('r:' .. id)
  if not packed then return nil end
  return cmsgpack.unpack(packed)
end

local function save_hold(id, ...)
  writes['r:' .. id] = cmsgpack.pack(...)
end

local function hold_count(h)
  return h.owner == '' and 1 or h.holds[1]
end

local function first_hold(h)
  return h.owner == '' and '' or h.holds[2]
end

local function hold_weight(h, id)
  if h.owner == '' then return h.weight end
  local _, _, _, weight = read_hold(id)
  return weight
end

-- Appends a hold to the chain.
local function append_hold(h, id, weight, channel)
  local count, first, last, full = unpack(h.holds)
  if count > 0 then
    local root, before, _, own, told = read_hold(last)
    save_hold(last, root, before, id, own, told)
  end
  save_hold(id, h.id, last, '', weight, channel)
  if weight == h.weight then full = full + 1 end
  h.holds = { count + 1, count > 0 and first or id, id, full }
end

local function take_hold(h, id)
  local count, first, last, full = unpack(h.holds)
  local root, before, after, weight = read_hold(id)
  if before == '' then
    first = after
  else
    local _, second, _, own, told = read_hold(before)
    save_hold(before, root, second, after, own, told)
  end
  if after == '' then
    last = before
  else
    local _, _, second, own, told = read_hold(after)
    save_hold(after, root, before, second, own, told)
  end
  if weight == h.weight then full = full - 1 end
  h.holds = { count - 1, first, last, full }
  writes['r:' .. id] = false
end

-- A lease has the weight of its heaviest hold. Called when the last of the heaviest holds has left
-- or was changed.
local function weigh_again(h)
  local heaviest, full, id = 0, 0, first_hold(h)
  while id ~= '' do
    local _, _, after, weight = read_hold(id)
    if weight > heaviest then heaviest, full = weight, 0 end
    if weight == heaviest then full = full + 1 end
    id = after
  end
  used, h.weight, h.holds[4] = used - h.weight + heaviest, heaviest, full
end

-- The channels of the processes that hold a lease, each with the first of its holds.
local function listeners(h)
  if h.owner == '' then return h.channel ~= '' and { { h.channel, h.id } } or {} end
  local list, listed, id = {}, {}, first_hold(h)
  while id ~= '' do
    local _, _, after, _, channel = read_hold(id)
    if channel ~= '' and not listed[channel] then list[#list + 1] = { channel, id } end
    listed[channel], id = true, after
  end
  return list
end
