--- @include "lib/record.lua"
--- @include "lib/waiters.lua"
-- The processes of waiting acquisitions: see engine/processes.ts.
local processes = {}

local function read_process(id)
  local name = process_of(id)
  local p = processes[name]
  if p == nil then
    local packed = known and read('n:' .. name)
    p = packed and {} or false
    if p then p.waiters, p.heard, p.till = cmsgpack.unpack(packed) end
    processes[name] = p
  end
  return p
end

-- Counts one more waiter of its process.
local function enter_process(id)
  local p = read_process(id) or { waiters = 0, heard = 0, till = 0 }
  p.waiters, p.changed = p.waiters + 1, true
  processes[process_of(id)] = p
end

-- Counts one waiter fewer of its process.
local function leave_process(id)
  local p = read_process(id)
  if p then p.waiters, p.changed = p.waiters - 1, true end
end

local function hear_process(id, patience)
  local p = patience > 0 and read_process(id)
  if p then p.heard, p.till, p.changed = now, now + patience * 1000, true end
end

-- A lease of the process ended unclaimed.
local function lapse(h, expires)
  local p = expires < h.since + h.ttl * 1000 and read_process(h.id)
  if p and (p.heard <= h.since or p.heard > now) then p.till, p.changed = 1, true end
end

local function is_silent(id)
  local p = read_process(id)
  return p and p.till ~= 0 and p.till <= now
end

local function collect_processes()
  for name, p in pairs(processes) do
    if p and p.changed then
      writes['n:' .. name] = p.waiters > 0 and cmsgpack.pack(p.waiters, p.heard, p.till)
    end
  end
end
