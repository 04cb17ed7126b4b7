--- @include "lib/parking.lua"
-- The holds of owners: a chain, in the order of joining.
--
-- The lease stores their number, the first, the last, how many have its weight, and a time before
-- which none ends. Each hold stores its lease, the hold before and after it, its weight, its
-- channel, its end, and the number of its last change, if any. So a change costs the same for any
-- number of holds, except for the last of the heaviest.
local HOLD_LIMIT = 1000

local function read_hold(id)
  local packed = read('r:' .. id)
  if not packed then return nil end
  return cmsgpack.unpack(packed)
end

local function save_hold(id, ...)
  writes['r:' .. id] = cmsgpack.pack(...)
end

-- Its last signal, and the effect.
local function sent_by(h, id)
  if h.owner == '' then return h.seq or 0, h.woken or 0, h.left or 0 end
  local seq, woken, left = select(8, read_hold(id))
  return seq or 0, woken or 0, left or 0
end

local function hold_count(h)
  return h.owner == '' and 1 or h.holds[1]
end

local function first_hold(h)
  return h.owner == '' and '' or h.holds[2]
end

-- And the number of its last change.
local function hold_weight(h, id)
  if h.owner == '' then return h.weight, h.changes or 0 end
  local _, _, _, weight, _, _, seq = read_hold(id)
  return weight, seq or 0
end

local function end_of(h, id)
  if h.owner == '' then return h.expires end
  local root, _, _, _, _, expires = read_hold(id)
  return root == h.id and expires or 0
end

local function due_of(h)
  return h.owner == '' and h.expires or h.holds[5]
end

-- `at`: 2 is the hold before, 3 after it, 5 its channel, 6 its end.
local function link(id, at, other)
  local hold = { read_hold(id) }
  hold[at] = other
  save_hold(id, unpack(hold))
end

local function append_hold(h, id, weight, channel, expires)
  local count, first, last, full, due = unpack(h.holds)
  if count > 0 then link(last, 3, id) end
  save_hold(id, h.id, last, '', weight, channel, expires)
  if weight == h.weight then full = full + 1 end
  h.holds = { count + 1, count > 0 and first or id, id, full, math.min(due, expires) }
end

local function take_hold(h, id)
  local count, first, last, full, due = unpack(h.holds)
  local _, before, after, weight = read_hold(id)
  if before == '' then first = after else link(before, 3, after) end
  if after == '' then last = before else link(after, 2, before) end
  if weight == h.weight then full = full - 1 end
  h.holds = { count - 1, first, last, full, due }
  writes['r:' .. id] = false
end

-- After the last of the heaviest holds left or was changed.
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
