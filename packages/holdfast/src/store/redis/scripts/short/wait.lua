-- A process polls for one waiter of a mutex that another acquisition holds.
-- Earns 88 % of the time of `poll`.
local function place_of(id, queued, heard, paused)
  local counted_before = paused and in_same(heard)
  if queued > FRONT and paused then
    local before = redis.call('ZRANK', queue, id)
    return before, before and before >= 8 and not counted_before and first_waiters()
  end
  -- the order of few waiters tells how many there are
  local front = first_waiters()
  if #front ~= math.min(queued, FRONT) then return nil end
  local before = place_in(front, id)
  return (queued > FRONT or before < FRONT) and before, not counted_before and front
end

local function wait_on(id)
  local rest, expires, forget = UNPACK_HEAD.plain(seen, 'expires kept')
  local queued, holder, last, hand_offs, since =
    UNPACK_REST.plain(seen, rest, 'queued holder last hand_offs since')
  if holder == '' or holder == id or expires <= now then return nil end
  local waiters, heard, paused = UNPACK.process(process, 'waiters heard paused')
  local pause = 0
  if period > 0 and queued > 8 and paused ~= 1 then
    pause = pause_again(heard, paused, since == 0 and last - hand_offs or since)
    if pause == 0 then
      local before, front = place_of(id, queued, heard, paused)
      if not before then return nil end
      pause = pause_of(id, front, before)
    end
  end
  local extra = pause > 0 and pause - period or 0
  local kept = kept_until(forget, expires)
  local summary = PACK_HEAD.plain({ expires = expires, kept = kept }) .. string.sub(seen, rest + 1)
  save(forget, kept, true, summary, 'n:' .. process_of(id),
    packed_process(waiters, now, now + (patience + extra) * 1000, pause > 0 and now + pause * 1000))
  return { 'polled', now, expires - now, { { 'queued' } }, pause }
end

if is_plain and waits and process and patience > 0 then
  local reply = wait_on(ids[1])
  if reply then return reply end
end
