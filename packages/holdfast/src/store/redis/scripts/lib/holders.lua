--- @include "lib/orders.lua"
--- @include "lib/holds.lua"
-- Leases: the functions of engine/resource.ts. If several are possible, each has a field, and
-- `expiries` orders them. One that can only be alone is in the summary.
local EXPIRE_LIMIT = 1000

local unconsumed_signals = {}

local function read_holder(id)
  if not many then return sole and sole.id == id and sole or nil end
  local packed = read('h:' .. id)
  if not packed then return nil end
  local h = { id = id }
  h.expires, h.weight, h.fence, h.hand_offs, h.ttl, h.since, h.owner, h.holds, h.channel,
    h.tasks, h.meta, h.signalled, h.seq, h.woken, h.left, h.changes = cmsgpack.unpack(packed)
  if h.signalled == '' then h.signalled = nil end
  return h
end

local function save_holder(h)
  if not many then
    sole = h
    return
  end
  writes['h:' .. h.id] = cmsgpack.pack(
    h.expires, h.weight, h.fence, h.hand_offs, h.ttl, h.since, h.owner, h.holds, h.channel, h.tasks,
    with_signals(h))
end

local function lease_of(id)
  local h = read_holder(read_hold(id) or id)
  if not h or end_of(h, id) <= now then return nil end
  return h
end

local function lease_of_owner(owner)
  local root = owner ~= '' and read('p:' .. owner)
  local h = root and read_holder(root)
  if not h or h.expires <= now then return nil end
  return h
end

local more = false

-- 0 if none is held, or more waiters can be served.
local function next_expiry()
  local first = sole and due_of(sole)
  if more then return 0 end
  if many and leases > 0 then
    first = tonumber(redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2])
  end
  return first and math.max(0, first - now) or 0
end

-- The only lease's id, or ''.
local function only_lease()
  if sole then return sole.id end
  return many and leases == 1 and redis.call('ZRANGE', expiries, 0, 0)[1] or ''
end

local function schedule(h)
  save_holder(h)
  if many then
    guard()
    redis.call('ZADD', expiries, due_of(h), h.id)
  end
  latest = math.max(latest, h.expires)
end

local function extend(h, id, expires)
  h.expires = math.max(h.expires, expires)
  if h.owner ~= '' then link(id, 6, math.max(end_of(h, id), expires)) end
  schedule(h)
end

local function add(h)
  used, leases = used + h.weight, leases + 1
  if h.owner ~= '' then
    writes['p:' .. h.owner], h.holds = h.id, { 0, '', '', 0, h.expires }
    append_hold(h, h.id, h.weight, h.channel, h.expires)
  end
  schedule(h)
  return h
end

-- With `ordered`, the caller removes it from the order.
local function remove(h, ordered)
  if h.signalled then unconsumed_signals[#unconsumed_signals + 1] = h.signalled end
  if h.owner ~= '' then
    if read('p:' .. h.owner) == h.id then writes['p:' .. h.owner] = false end
    local id = first_hold(h)
    while id ~= '' do
      local root, _, after = read_hold(id)
      -- the hold may be of a newer lease, and the rest of the chain lost
      if root ~= h.id then break end
      writes['r:' .. id] = false
      id = after
    end
  end
  if not many then
    sole = nil
  else
    writes['h:' .. h.id] = false
    if not ordered then
      guard()
      redis.call('ZREM', expiries, h.id)
    end
  end
  used, leases = used - h.weight, leases - 1
  if used == 0 then
    latest, many = 0, capacity ~= 1
  end
end

-- A root that may be handed off is `sole`.
local function fits(weight)
  return used + weight <= capacity and not (sole and sole.hand_offs > 0)
end

local function set_capacity(wanted_kind, wanted)
  if wanted > 1 and sole and sole.hand_offs == 0 then
    local h = sole
    sole, many = nil, true
    save_holder(h)
    guard()
    redis.call('ZADD', expiries, due_of(h), h.id)
  end
  kind, capacity = wanted_kind, wanted
  if used == 0 then many = capacity ~= 1 end
end

-- Also the number of the last change that the acquisition saw.
local function save_change(h, id, weight, seq)
  if h.owner == '' then
    h.changes = seq
  else
    link(id, 4, weight)
    link(id, 7, seq)
  end
  save_holder(h)
end

local function resize(h, id, wanted, seq)
  if wanted > h.weight then
    fence = math.max(fence + 1, now)
    h.fence = fence
  end
  used, h.weight = used + wanted - h.weight, wanted
  save_change(h, id, wanted, seq)
end

local function resize_hold(h, id, wanted, seq)
  if wanted == h.weight then h.holds[4] = h.holds[4] + 1 end
  save_change(h, id, wanted, seq)
end

local function note_signal(h, id, ...)
  if h.owner == '' then
    h.seq, h.woken, h.left = ...
    return save_holder(h)
  end
  local root, before, after, weight, channel, expires, changes = read_hold(id)
  save_hold(id, root, before, after, weight, channel, expires, changes or 0, ...)
end

-- The caller saves the lease.
local function address(h, id, channel)
  if h.owner == '' then h.channel = channel else link(id, 5, channel) end
end

local function drop_holds(h, ordered)
  local due, dropped, id = math.huge, false, first_hold(h)
  while id ~= '' do
    local root, _, after, _, _, expires = read_hold(id)
    if root ~= h.id then break end
    if expires > now then
      due = math.min(due, expires)
    else
      if id == h.id then lapse(h, expires) end
      take_hold(h, id)
      dropped = true
    end
    id = after
  end
  local count, _, _, full = unpack(h.holds)
  if count == 0 or due == math.huge then return remove(h, ordered) end
  if dropped and h.signalled then
    unconsumed_signals[#unconsumed_signals + 1] = h.signalled
    h.signalled = nil
  end
  if full == 0 then weigh_again(h) end
  h.holds[5] = due
  schedule(h)
end

local function expire(h, ordered)
  if h.owner ~= '' then return drop_holds(h, ordered) end
  lapse(h, h.expires)
  remove(h, ordered)
end

local function drop_expired()
  if not known then return end
  reconcile()
  drop_silent(EXPIRE_LIMIT)
  if not many then
    if sole and due_of(sole) <= now then expire(sole) end
    return
  end
  local till = string.format('%.0f', now)
  local due = redis.call('ZRANGE', expiries, '-inf', till, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
  if #due == 0 then return end
  local names = {}
  for index, id in ipairs(due) do names[index] = 'h:' .. id end
  load(names)
  local removed, count = {}, 0
  for _, id in ipairs(due) do
    if count >= EXPIRE_LIMIT then break end
    count = count + 1
    local h = read_holder(id)
    -- the server may have evicted the record, not the order
    if h then
      if h.owner ~= '' then count = count + hold_count(h) end
      expire(h, true)
    end
    if not read('h:' .. id) then removed[#removed + 1] = id end
  end
  guard()
  if #removed > 0 then redis.call('ZREM', expiries, unpack(removed)) end
end

local function drop_stale(id)
  local h = read_holder(read_hold(id) or id)
  if not h or end_of(h, id) > now then return end
  if h.owner == '' then remove(h) else drop_holds(h) end
end

-- A fence above all earlier ones (I2), and the hand-offs that the queue allows (I4).
local function terms(w)
  local hand_offs = w.hand_offs
  if capacity > 1 or (w.fair == 0 and fair_waiting > 0) then
    hand_offs = 0
  elseif w.fair == 0 and waiting == 0 then
    hand_offs = hand_offs_alone(hand_offs)
  end
  return math.max(fence + 1, now), hand_offs
end

local function grant(w, lease)
  local own, hand_offs = terms(w)
  fence = own + hand_offs
  return add({
    id = w.id, owner = w.owner, weight = w.weight, channel = w.channel, meta = w.meta, ttl = w.ttl,
    fence = own, hand_offs = hand_offs, since = now, holds = '', expires = now + lease * 1000,
    tasks = w.tasks or 0, signalled = w.signalled,
  })
end

local function join(h, w, lease)
  h.signalled = h.signalled or w.signalled
  local expires = now + lease * 1000
  if read_hold(w.id) ~= h.id then append_hold(h, w.id, w.weight, w.channel, expires) end
  extend(h, w.id, expires)
  return h
end

local function leave(h, id)
  if h.owner ~= '' then
    take_hold(h, id)
    local left, _, _, full = unpack(h.holds)
    if left > 0 and full == 0 then weigh_again(h) end
    save_holder(h)
    if left > 0 then return false end
  end
  h.signalled = nil
  remove(h)
  return true
end

local function take_back_fences(h, last_used)
  local last = h.fence + h.hand_offs
  if fence == last then fence = math.min(last, math.max(h.fence, last_used)) end
end

local function granted(h, id)
  return { 'granted', now, h.fence, end_of(h, id) - now, h.hand_offs, hold_count(h) }
end
