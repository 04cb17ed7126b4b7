--- @include "lib/save.lua"
-- The main record of a resource: a hash.
--
--   s           the summary, in one of two forms:
--               a plain record: see lib/fields.lua
--               any other record: kind (see acquire.lua), capacity, last fence, last ticket, used,
--               latest expiry, fair waiters, leases, waiters, the time until which the server keeps
--               the key, and the only lease, if it was granted at a capacity of 1
--   m           of the lease of a plain record: see lib/fields.lua
--   h:<id>      a lease that was granted at another capacity
--   w:<id>      a waiter: see lib/fields.lua
--   p:<owner>   the owner's lease
--   r:<id>      an owner's hold: see lib/holds.lua
--   c:<id>      a parked waiter
--   n:<process> a process with waiters: see lib/fields.lua
--   l           the chain of all parked waiters: first, last, count
--   l:<name>    the chain of those at a condition
--
-- A plain record has two fields for its lease: the server stores a small hash with values of up to
-- 64 bytes in one piece. It is that of a mutex whose lease has no owner and no signals, whose
-- waiters have the weight 1, no owner and no signal, and none is parked.
--
-- `flush` sets the key's expiry, and then writes the changes in `writes`: a server that is out of
-- memory allows PEXPIREAT, and lets a script finish once it has written. So a command never stops
-- halfway.
local CHUNK = 1000

local known = seen and true
local loaded, writes = {}, {}
local kind, capacity, fence, last_ticket, used, latest, fair_waiting, leases, waiting =
  1, 0, 0, 0, 0, 0, 0, 0, 0
-- The only lease of a mutex.
local sole
-- Until when the server keeps the key.
local forget
local plain = is_plain
-- Leases have fields, also at a capacity of 1 after a greater one; a root stays `sole` if the
-- capacity is raised. Without another lease, the capacity decides.
local many = false
if plain then
  local h, _ = { weight = 1, owner = '', holds = '' }, nil
  h.expires, forget, waiting, h.id, fence, last_ticket, fair_waiting, h.hand_offs, h.ttl, h.since =
    UNPACK.plain(
      seen, 'expires kept queued holder last last_ticket fair hand_offs ttl since')
  capacity = 1
  if h.id ~= '' then
    h.fence = fence - h.hand_offs
    if h.since == 0 then h.since = h.fence end
    sole, used, latest, leases = h, 1, h.expires, 1
  end
elseif known then
  local h = {}
  kind, capacity, fence, last_ticket, used, latest, fair_waiting, leases, waiting, forget, h.id,
    h.expires, h.weight, h.fence, h.hand_offs, h.ttl, h.since, h.owner, h.holds,
    h.channel, h.tasks, h.meta, h.signalled,
    h.seq, h.woken, h.left, h.changes = cmsgpack.unpack(seen)
  sole = h.id and h
  if h.signalled == '' then h.signalled = nil end
  many = not sole and (capacity ~= 1 or used > 0)
end
if known and not (type(leases) == 'number' and type(forget) == 'number') then
  error('the field s is not a record of this version')
end

local function load(names)
  for index, value in ipairs(redis.call('HMGET', resource, unpack(names))) do
    loaded[names[index]] = value
  end
end
if known then load({ 'h:' .. id, 'w:' .. id, 'r:' .. id, 'l', 'm' }) end
if plain and sole then UNPACK.about(loaded.m, sole) end

-- With this script's changes; false without the field.
local function read(field)
  local value = writes[field]
  if value == nil then value = loaded[field] end
  if value == nil then
    value = redis.call('HGET', resource, field)
    loaded[field] = value
  end
  return value
end

-- Before the first write outside `flush`: a server that may not write fails here, before any change
-- or push.
local guarded = false
local function guard()
  if known and not guarded then redis.call('PEXPIREAT', resource, kept_until(forget, now)) end
  guarded = true
end

-- Present after a signal, by or for the lease, or a change of its weight.
local function with_signals(h)
  local signalled, seq = h.signalled or '', h.seq or 0
  if signalled == '' and seq == 0 and not h.changes then return h.meta end
  local changes = h.changes and { h.changes } or {}
  return h.meta, signalled, seq, h.woken or 0, h.left or 0, unpack(changes)
end

local function pack_plain()
  if not sole then
    return PACK.plain({
      expires = 0, kept = forget, queued = waiting, holder = '', last = fence,
      last_ticket = last_ticket, fair = fair_waiting,
    })
  end
  local since = sole.since
  writes.m = PACK.about(sole)
  return PACK.plain(sole, {
    kept = forget, queued = waiting, holder = sole.id, last = fence, last_ticket = last_ticket,
    fair = fair_waiting, hand_offs = sole.hand_offs, ttl = sole.ttl,
    since = since == sole.fence and 0 or since,
  })
end

local function pack_summary(parked)
  plain = (plain or waiting == 0) and kind == 1 and parked == 0
  if plain and sole then
    plain = sole.owner == '' and sole.weight == 1 and sole.expires == latest
      and sole.fence + sole.hand_offs == fence
      and not (sole.signalled or sole.seq or sole.changes)
  end
  if plain and not many then return pack_plain() end
  if not sole then
    return cmsgpack.pack(
      kind, capacity, fence, last_ticket, used, latest, fair_waiting, leases, waiting, forget)
  end
  return cmsgpack.pack(
    kind, capacity, fence, last_ticket, used, latest, fair_waiting, leases, waiting, forget,
    sole.id, sole.expires, sole.weight, sole.fence, sole.hand_offs, sole.ttl, sole.since,
    sole.owner, sole.holds, sole.channel, sole.tasks, with_signals(sole))
end

local function in_chunks(command, list)
  for from = 1, #list, CHUNK do
    redis.call(command, resource, unpack(list, from, math.min(from + CHUNK - 1, #list)))
  end
end

-- Of other fragments, to `writes`. Returns the parked waiters' number.
local collect

local function flush()
  local parked = collect()
  local at = kept_until(forget, math.max(now, latest), parked > 0)
  if known then redis.call('PEXPIREAT', resource, at) end
  forget = at
  writes.s = pack_summary(parked)
  local set, deleted = {}, {}
  for field, value in pairs(writes) do
    if value then
      set[#set + 1] = field
      set[#set + 1] = value
    elseif loaded[field] then
      deleted[#deleted + 1] = field
    end
  end
  in_chunks('HDEL', deleted)
  in_chunks('HSET', set)
  if not known then redis.call('PEXPIREAT', resource, at) end
  if waiting > 0 then redis.call('PEXPIREAT', queue, at) end
  if many and leases > 0 then redis.call('PEXPIREAT', expiries, at) end
end
