--[[ poll: joins queued ids to their owners' leases, serves the queue, returns each id's state.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    patience   ms      as in acquire.lua, or 0
    retention  ms
    period     ms      the time to the next poll, if the reply allows no pause; 0 to get none
    ids...     string  the acquisitions
  REPLY
    polled now next standings pause
    standings: for each id: granted fence left hand_offs holds | queued | parked | absent
    pause: the time to the next poll, in ms; 0 for the period
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local patience = tonumber(ARGV[1])
local retention = tonumber(ARGV[2])
local period = tonumber(ARGV[3])
local ids = { unpack(ARGV, 4) }
local id = ''
--- @include "lib/clock.lua"
--- @include "lib/waiters.lua"
-- What the short path needs, in one call.
local seen, waits, process, sleeps, sleepers
if #ids == 1 then
  seen, waits, process, sleeps, sleepers = unpack(redis.call(
    'HMGET', resource, 's', 'w:' .. ids[1], 'n:' .. process_of(ids[1]), 'c:' .. ids[1], 'l'))
else
  seen = redis.call('HGET', resource, 's')
end
-- see lib/peek-to-write.lua
if not seen then redis.call('HDEL', resource, '') end
--- @include "lib/save.lua"

-- See engine/idle.ts.
local FRONT = 64
local function others_in_front(id, front, before)
  local seen_processes, count = { [process_of(id)] = true }, 0
  for at = 1, math.min(before, FRONT) do
    local name = process_of(front[at])
    if not seen_processes[name] then seen_processes[name], count = true, count + 1 end
  end
  return count
end

-- `front`: false if they were counted.
local function pause_of(id, front, before)
  if before < 8 or (front and others_in_front(id, front, before) < 8) then return 0 end
  return math.min(16, 1 + math.floor(before / 8)) * period
end

local function in_same(heard)
  local interval = 64 * period * 1000
  return math.floor(heard / interval) == math.floor(now / interval)
end

-- `since`: when the only lease was granted.
local function pause_again(heard, paused, since)
  if not paused or since >= heard or not in_same(heard) then return 0 end
  local pause = math.floor((paused - heard) / 1000)
  return (pause < period or pause > 16 * period) and 0 or pause
end

local function place_in(front, id)
  for at = 1, #front do
    if front[at] == id then return at - 1 end
  end
  return math.huge
end

local function parked_pause(parked)
  local share = math.floor(parked / (64 * #ids))
  return math.min(20, share, math.floor(3 * retention / (8 * period))) * period
end

local function first_waiters()
  return redis.call('ZRANGE', queue, 0, FRONT - 1)
end

--- @include "short/wait.lua"
--- @include "short/asleep.lua"
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
  return { 'polled', now, 0, standings, 0 }
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
local heard, paused = 0, 0
if #ids > 0 then
  local p = read_process(ids[1])
  if p then heard, paused = p.heard, p.paused end
end
for _, id in ipairs(ids) do
  process_polled(id, patience, 0, period)
  local w = read_waiter(id)
  if w then rejoin(w) end
end
serve('')
local pause, all = 0, nil
for index, id in ipairs(ids) do
  standings[index] = standing(id)
  local how = standings[index][1]
  all = (index == 1 or how == all) and how
end
if period > 0 and all == 'queued' and paused ~= 1 then
  local only = leases == 1 and read_holder(only_lease())
  pause = only and pause_again(heard, paused, only.since) or 0
  if pause == 0 then
    local front = (paused == 0 or not in_same(heard)) and first_waiters()
    local before = paused == 0 and place_in(front, ids[1]) or redis.call('ZRANK', queue, ids[1])
    pause = pause_of(ids[1], front, before)
  end
elseif period > 0 and all == 'parked' then
  pause = parked_pause(parked_count())
end
if pause > 0 then process_polled(ids[1], patience, pause, period) end
flush()
return { 'polled', now, next_expiry(), standings, pause }
