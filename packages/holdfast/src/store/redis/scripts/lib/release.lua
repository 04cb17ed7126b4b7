-- What follows the short path of a release: see release.lua. It returns the reply.
--- @include "lib/plain.lua"
-- At most the first waiter is granted.
if is_own then
  local first, ticket = first_waiter()
  if first then
    if grant_next(first, last, ticket_before, queued, fair_before, forget) then return now end
    redis.call('ZADD', queue, ticket, first)
  end
end
-- A waiter leaves the queue of a mutex that another acquisition holds.
local function leave_queue()
  local process = 'n:' .. process_of(id)
  local packed, count = unpack(redis.call('HMGET', resource, 'w:' .. id, process))
  if not packed or not count then return false end
  if redis.pcall('ZREM', queue, id) ~= 1 then return false end
  local _, _, _, _, _, fair = cmsgpack.unpack(packed)
  local kept, waiters = kept_until(forget, expires), cmsgpack.unpack(count)
  local summary = cmsgpack.pack(
    true, expires, kept, queued - 1, holder, last, ticket_before, fair_before - fair, hand_offs,
    h_ttl, since)
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
--- @include "lib/serve.lua"

-- Ends a lease or a hold.
local function let_go(h)
  if not leave(h, id) then return 'kept' end
  if unpassed then take_back_fences(h, 0) end
  return 'freed'
end

if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
local status
if held then
  status = let_go(held)
else
  status = withdraw(id) and 'dequeued' or 'absent'
end
serve('')
flush()
return { status, now, status == 'kept' and hold_count(read_holder(held.id)) or 0 }
