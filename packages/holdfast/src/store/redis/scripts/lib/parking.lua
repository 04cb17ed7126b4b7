--- @include "lib/processes.lua"
-- Parked waiters, see engine/parking.ts. Each is in two chains, so a change has a constant cost:
-- that of its condition, in the order of parking (`ahead`, `behind`), and that of all, the oldest
-- poll first (`older`, `newer`).
local entries, chains, changed = {}, {}, {}

local function chain(name)
  local c = chains[name]
  if not c then
    c = { first = '', last = '', count = 0 }
    local packed = known and (name == 'l' or chain('l').count > 0) and read(name)
    if packed then c.first, c.last, c.count = cmsgpack.unpack(packed) end
    chains[name] = c
  end
  return c
end

local function parked_count()
  return chain('l').count
end

local function read_parked(id)
  if entries[id] == nil then
    local packed = parked_count() > 0 and read('c:' .. id)
    local e = packed and { id = id }
    if e then
      e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.fair, e.owner, e.channel, e.token,
        e.meta, e.ahead, e.behind, e.older, e.newer = cmsgpack.unpack(packed)
    end
    entries[id] = e
  end
  return entries[id] or nil
end

local function change(id)
  changed[id] = true
  return read_parked(id)
end

local function link(name, e, back, forth)
  local c = chain(name)
  e[back], e[forth] = c.last, ''
  if c.last ~= '' then change(c.last)[forth] = e.id else c.first = e.id end
  c.last, c.count, c.changed = e.id, c.count + 1, true
end

local function unlink(name, e, back, forth)
  local c = chain(name)
  if e[back] ~= '' then change(e[back])[forth] = e[forth] else c.first = e[forth] end
  if e[forth] ~= '' then change(e[forth])[back] = e[back] else c.last = e[back] end
  c.count, c.changed = c.count - 1, true
end

local function add_parked(e)
  link('l:' .. e.condition, e, 'ahead', 'behind')
  link('l', e, 'older', 'newer')
  enter_process(e.id)
  entries[e.id], changed[e.id] = e, true
end

local function remove_parked(id)
  local e = read_parked(id)
  if not e then return nil end
  unlink('l:' .. e.condition, e, 'ahead', 'behind')
  unlink('l', e, 'older', 'newer')
  leave_process(id)
  entries[id], changed[id] = false, true
  -- it may be queued again, and is no root
  e.hand_offs = 0
  return e
end

local function hear(id)
  local e = read_parked(id)
  if not e or e.till - now >= retention * 500 then return end
  unlink('l', e, 'older', 'newer')
  link('l', e, 'older', 'newer')
  e.till, changed[id] = now + retention * 1000, true
end

local function drop_silent(limit)
  for _ = 1, limit do
    local id = chain('l').first
    if id == '' or read_parked(id).till > now then return end
    remove_parked(id)
  end
end

collect = function()
  collect_processes()
  for id in pairs(changed) do
    local e = entries[id]
    writes['c:' .. id] = e and cmsgpack.pack(
      e.condition, e.since, e.till, e.weight, e.ttl, e.claim, e.fair, e.owner, e.channel, e.token,
      e.meta, e.ahead, e.behind, e.older, e.newer)
  end
  for name, c in pairs(chains) do
    if c.changed then
      writes[name] = c.count > 0 and cmsgpack.pack(c.first, c.last, c.count)
    end
  end
  return parked_count()
end
