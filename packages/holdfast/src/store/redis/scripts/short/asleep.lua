-- A process polls for one parked waiter of a mutex whose queue is empty.
-- Earns 76 % of the time of `poll`.
-- Places in an entry, see lib/parking.lua.
local TILL, OLDER, NEWER = 3, 14, 15

-- The named entries and the own one by id, with one call; false for one that is missing.
local function entries_of(id, own, names)
  local fields, found = {}, { [id] = own }
  for _, name in ipairs(names) do
    if name ~= '' and found[name] == nil then
      found[name], fields[#fields + 1] = false, 'c:' .. name
    end
  end
  if #fields == 0 then return found end
  for at, packed in ipairs(redis.call('HMGET', resource, unpack(fields))) do
    if not packed then return nil end
    found[string.sub(fields[at], 3)] = { cmsgpack.unpack(packed) }
  end
  return found
end

-- `hear` of lib/parking.lua: adds the changed fields to `list`. `near`: the entries by id.
local function move_last(id, near, first, last, parked, list)
  local e = near[id]
  local older, newer = e[OLDER], e[NEWER]
  e[TILL] = now + retention * 1000
  local changed = { [id] = e }
  if last ~= id then
    local before, after = older ~= '' and near[older], near[newer]
    if before then before[NEWER], changed[older] = newer, before else first = newer end
    after[OLDER], changed[newer] = older, after
    near[last][NEWER], changed[last] = id, near[last]
    e[OLDER], e[NEWER] = last, ''
    list[#list + 1] = 'l'
    list[#list + 1] = cmsgpack.pack(first, id, parked)
  end
  for name, one in pairs(changed) do
    list[#list + 1] = 'c:' .. name
    list[#list + 1] = cmsgpack.pack(unpack(one, 1, NEWER))
  end
end

local function sleep_on(id)
  local _, _, _, _, _, latest, _, _, queued, forget, holder, expires, _, _, _, _, _, owner =
    cmsgpack.unpack(seen)
  if queued > 0 or holder and (owner ~= '' or expires <= now) then return nil end
  if kept_until(forget, math.max(now, latest), true) ~= forget then return nil end
  local first, last, parked = cmsgpack.unpack(sleepers)
  local own = { cmsgpack.unpack(sleeps) }
  local is_due = own[TILL] - now < retention * 500
  local near = entries_of(id, own, is_due and { first, own[OLDER], own[NEWER], last } or { first })
  if not near or near[first][TILL] <= now then return nil end
  local pause = period > 0 and parked_pause(parked) or 0
  local extra = pause > 0 and pause - period or 0
  local waiters = UNPACK.process(process, 'waiters')
  local list = { 'n:' .. process_of(id), packed_process(
    waiters, now, now + (patience + extra) * 1000, pause > 0 and now + pause * 1000) }
  if is_due then move_last(id, near, first, last, parked, list) end
  redis.call('HSET', resource, unpack(list))
  return { 'polled', now, holder and expires - now or 0, { { 'parked' } }, pause }
end

if seen and not is_plain and sleeps and process and patience > 0 then
  local reply = sleep_on(ids[1])
  if reply then return reply end
end
