--- @include "lib/save.lua"
--- @include "lib/waiters.lua"
--- @include "lib/push.lua"
-- Short paths are the usual cases of commands, before the general path's functions are made. One
-- rule holds for all: a short path gives the same answer, writes and pushes as the general path, or
-- does nothing. Each says what it earns of its script's time, as `npm run bench -- --short`
-- measures it; below 5 % it goes.
--
-- In a plain record only the first waiter can be granted, so one grant leaves none to serve.

-- From the queue; nil if there is none, the server refuses the write, or the user may not call
-- ZPOPMIN.
local function first_waiter()
  local popped = redis.pcall('ZPOPMIN', queue)
  return popped[1], popped[2]
end

-- `change`: the new waiters. A patience above 0: it sent a command now.
local function counted(packed, change, patience)
  local waiters, heard, till, paused = 0, 0, 0, nil
  if packed then
    waiters, heard, till, paused = UNPACK.process(packed, 'waiters heard till paused')
  end
  if patience > 0 then heard, till = now, math.max(till, now + patience * 1000) end
  return packed_process(waiters + change, heard, till, paused)
end

-- The end of its lease, for the head `id` of a free lock's queue; false if that waiter counts as
-- dead or pauses, or is unknown to the record.
local function grant_next(id, fence, last_ticket, waiting, fair_waiting, forget, ...)
  local process = 'n:' .. process_of(id)
  local packed, count = unpack(redis.call('HMGET', resource, 'w:' .. id, process))
  if not packed or not count then return false end
  local ttl, claim, hand_offs, fair, channel, token, tasks, meta =
    UNPACK.waiter(packed, 'ttl claim hand_offs fair channel token tasks meta')
  local waiters, heard, till, paused = UNPACK.process(count, 'waiters heard till paused')
  if (paused and paused > 1) or (till ~= 0 and till <= now) then return false end
  waiting, fair_waiting = waiting - 1, fair_waiting - fair
  if fair == 0 and fair_waiting > 0 then
    hand_offs = 0
  elseif fair == 0 and waiting == 0 then
    hand_offs = hand_offs_alone(hand_offs)
  end
  local own, lease = math.max(fence + 1, now), math.min(ttl, claim) * 1000
  local message = channel ~= '' and grant_message(id, own, lease, hand_offs, 1, token)
  if message and not reached(channel, message) then return false end
  local expires = now + lease
  local kept = kept_until(forget, expires)
  local summary = PACK.plain({
    expires = expires, kept = kept, queued = waiting, holder = id, last = own + hand_offs,
    last_ticket = last_ticket, fair = fair_waiting, hand_offs = hand_offs, ttl = ttl,
    since = own == now and 0 or now,
  })
  local about = PACK.about({ channel = channel, tasks = tasks, meta = meta })
  if waiters > 1 then
    redis.call('HDEL', resource, 'w:' .. id)
    save(forget, kept, waiting > 0, summary, 'm', about, process,
      packed_process(waiters - 1, heard, till, paused), ...)
  else
    redis.call('HDEL', resource, 'w:' .. id, process)
    save(forget, kept, waiting > 0, summary, 'm', about, ...)
  end
  return expires
end
