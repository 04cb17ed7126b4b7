--- @include "lib/save.lua"
--- @include "lib/waiters.lua"
--- @include "lib/push.lua"
-- Short paths for a plain record. They have the results of the general functions, and call the
-- server less. In a plain record only the first waiter can be granted, so nothing is left to serve
-- after one grant.

-- Takes the first waiter from the queue; nil if there is none, if the server refuses the write, or
-- if the user may not call ZPOPMIN.
local function first_waiter()
  local popped = redis.pcall('ZPOPMIN', queue)
  return popped[1], popped[2]
end

-- A process that has `change` waiters more, and sent a command now if its patience is above 0.
local function counted(packed, change, patience)
  local waiters, heard, till, paused = 0, 0, 0, nil
  if packed then waiters, heard, till, paused = cmsgpack.unpack(packed) end
  if patience > 0 then
    local least = paused and paused > now and till or 0
    heard, till = now, math.max(least, now + patience * 1000)
  end
  return pack_process(waiters + change, heard, till, paused)
end

-- Makes `id`, which was the head of the queue, the holder of a free lock. Returns false if that
-- waiter counts as dead or pauses, or the record does not know it; otherwise the end of its lease.
local function grant_next(id, fence, last_ticket, waiting, fair_waiting, forget, ...)
  local process = 'n:' .. process_of(id)
  local packed, count = unpack(redis.call('HMGET', resource, 'w:' .. id, process))
  if not packed or not count then return false end
  local _, _, ttl, claim, hand_offs, fair, _, channel, token, tasks, meta = cmsgpack.unpack(packed)
  local waiters, heard, till, paused = cmsgpack.unpack(count)
  if paused or (till ~= 0 and till <= now) then return false end
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
  local summary = cmsgpack.pack(
    true, expires, kept, waiting, id, own + hand_offs, last_ticket, fair_waiting, hand_offs, ttl,
    own == now and 0 or now)
  local about = cmsgpack.pack(channel, tasks, meta)
  if waiters > 1 then
    redis.call('HDEL', resource, 'w:' .. id)
    save(forget, kept, waiting > 0, summary, 'm', about, process,
      cmsgpack.pack(waiters - 1, heard, till), ...)
  else
    redis.call('HDEL', resource, 'w:' .. id, process)
    save(forget, kept, waiting > 0, summary, 'm', about, ...)
  end
  return expires
end
