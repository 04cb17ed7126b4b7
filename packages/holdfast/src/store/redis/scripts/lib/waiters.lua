-- `#placeAfter` of engine/resource.ts.
local function ticket_after(last_ticket, waited_ms)
  if waited_ms == 0 or last_ticket > now then return math.max(last_ticket + 1, now) end
  return math.max(1, now - waited_ms * 1000)
end

-- '' if the waiter is not the last of the queue. `holder`: the only lease's id, for a queue of one.
-- A lost record's order may remain, so it is read only if there are others.
local function ahead_of(id, waiters, holder)
  if waiters == 1 then return holder end
  local last = redis.call('ZRANGE', queue, -2, -1)
  return last[2] == id and last[1] or ''
end

-- Only a pausing process has the last value.
local function packed_process(waiters, heard, till, paused)
  if not paused or paused == 0 then
    return PACK.process({ waiters = waiters, heard = heard, till = till })
  end
  return PACK.process({ waiters = waiters, heard = heard, till = till, paused = paused })
end

local function process_of(id)
  return string.match(id, '^(.*)%.') or id
end
