--- @include "lib/record.lua"
--- @include "lib/waiters.lua"
-- The processes of waiters, see engine/processes.ts.
local processes = {}

local function read_process(id)
  local name = process_of(id)
  local p = processes[name]
  if p == nil then
    local packed = known and read('n:' .. name)
    p = packed and {} or false
    if p then
      UNPACK.process(packed, p)
      p.paused = p.paused or 0
    end
    processes[name] = p
  end
  return p
end

local function enter_process(id)
  local p = read_process(id) or { waiters = 0, heard = 0, till = 0, paused = 0 }
  p.waiters, p.changed = p.waiters + 1, true
  processes[process_of(id)] = p
end

local function leave_process(id)
  local p = read_process(id)
  if p then p.waiters, p.changed = p.waiters - 1, true end
end

local function hear_process(id, patience)
  local p = patience > 0 and read_process(id)
  if not p then return end
  p.heard, p.till, p.changed = now, math.max(p.till, now + patience * 1000), true
end

local function process_polled(id, patience, pause, period)
  local p = patience > 0 and read_process(id)
  if not p then return end
  local extra = pause > 0 and pause - period or 0
  p.heard, p.till, p.changed = now, now + (patience + extra) * 1000, true
  p.paused = pause > 0 and now + pause * 1000 or 0
end

-- A lease of the process ended unclaimed.
local lapsed = false
local function lapse(h, expires)
  if expires >= h.since + h.ttl * 1000 then return end
  local p = read_process(h.id)
  if p and p.heard > h.since and p.heard <= now then return end
  if p then p.till, p.changed = 1, true end
  lapsed = true
end

local function is_silent(id)
  local p = read_process(id)
  return p and p.till ~= 0 and p.till <= now
end

local function collect_processes()
  for name, p in pairs(processes) do
    if p and p.changed then
      writes['n:' .. name] = p.waiters > 0
        and packed_process(p.waiters, p.heard, p.till, p.paused)
    end
  end
end
