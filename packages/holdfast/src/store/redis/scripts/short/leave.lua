-- A waiter leaves the queue of a held mutex.
-- Earns 70 % of the time of `release`.
local function leave_queue()
  local process = 'n:' .. process_of(id)
  local packed, count = unpack(redis.call('HMGET', resource, 'w:' .. id, process))
  if not packed or not count then return false end
  if redis.pcall('ZREM', queue, id) ~= 1 then return false end
  local fair = UNPACK.waiter(packed, 'fair')
  local waiters = UNPACK.process(count, 'waiters')
  local kept = kept_until(forget, expires)
  local summary = PACK.plain({
    expires = expires, kept = kept, queued = queued - 1, holder = holder, last = last,
    last_ticket = ticket_before, fair = fair_before - fair, hand_offs = hand_offs, ttl = h_ttl,
    since = since,
  })
  if waiters > 1 then
    redis.call('HDEL', resource, 'w:' .. id)
    save(forget, kept, queued > 1, summary, process, counted(count, -1, 0))
  else
    redis.call('HDEL', resource, 'w:' .. id, process)
    save(forget, kept, queued > 1, summary)
  end
  return true
end

if is_plain and holder ~= id and queued > 0 and expires > now and leave_queue() then
  return { 'dequeued', now, 0 }
end
