--[[ inspect: shows a resource without a change.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    limit      int     maximum of holders, of waiters, and of holds of one owner to show
  REPLY
    inspected now kind capacity used fence holder_count waiter_count holders
    waiters parked_count parked
    holder: id owner weight fence hand_offs left holds tasks since meta ids
    waiter: id owner weight ticket fair tasks meta
    parked: id owner condition since meta
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local limit = tonumber(ARGV[1])
local retention = 0
local id = ''
--- @include "lib/peek.lua"
--- @include "lib/save.lua"

--- @include "short/inspect.lua"
--- @include "lib/serve.lua"

local function shown_holds(h)
  local ids, id = {}, first_hold(h)
  while id ~= '' and #ids < limit do
    ids[#ids + 1] = id
    local _, _, after = read_hold(id)
    id = after
  end
  return ids
end

local function lives(h)
  if h.owner == '' then return h.expires > now end
  local id = first_hold(h)
  while id ~= '' do
    local _, _, after, _, _, expires = read_hold(id)
    if expires > now then return true end
    id = after
  end
  return false
end

if not known then return { 'inspected', now, 0, 0, 0, 0, 0, 0, {}, {}, 0, {} } end

-- An order that the server has lost is computed from the record, as the next command does.
local queued, held = nil, nil
if not agree() then queued, held = survey() end

-- See engine/inspect.ts.
local ids, over, count = {}, {}, 0
if not many then
  over = { sole and sole.id }
elseif held then
  for _, one in ipairs(held) do
    local list, most = over, EXPIRE_LIMIT
    if one.place > now then
      list, most, count = ids, limit, count + 1
    end
    if #list < most then list[#list + 1] = one.id end
  end
elseif leases > 0 then
  local at = string.format('%.0f', now)
  local from = '(' .. at
  ids = redis.call('ZRANGE', expiries, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit)
  over = redis.call('ZRANGE', expiries, '-inf', at, 'BYSCORE', 'LIMIT', 0, EXPIRE_LIMIT)
  count = redis.call('ZCOUNT', expiries, from, '+inf')
end
local weight, shown = used, {}
for _, id in ipairs(over) do
  local h = read_holder(id)
  if h and lives(h) then
    shown[#shown + 1], count = id, count + 1
  elseif h then
    weight = weight - h.weight
  end
end
for _, id in ipairs(ids) do shown[#shown + 1] = id end
local holders = {}
for at = 1, math.min(limit, #shown) do
  local id = shown[at]
  local h = read_holder(id)
  if h then
    local left, holds = h.expires - now, hold_count(h)
    holders[#holders + 1] = {
      id, h.owner, h.weight, h.fence, h.hand_offs, left, holds, h.tasks, h.since, h.meta,
      shown_holds(h),
    }
  end
end
local waiters, in_turn = {}, {}
if queued then
  for index = 1, math.min(limit, #queued) do in_turn[index] = queued[index].id end
elseif waiting > 0 then
  in_turn = redis.call('ZRANGE', queue, 0, limit - 1)
end
for _, id in ipairs(in_turn) do
  local w = read_waiter(id)
  if w then waiters[#waiters + 1] = { id, w.owner, w.weight, w.ticket, w.fair, w.tasks, w.meta } end
end
local parked = {}
local at = chain('l').first
while at ~= '' and #parked < limit do
  local e = read_parked(at)
  parked[#parked + 1] = { at, e.owner, e.condition, e.since, e.meta }
  at = e.newer
end
return {
  'inspected', now, kind, capacity, weight, fence, count, waiting, holders, waiters,
  parked_count(), parked,
}
