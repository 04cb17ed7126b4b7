-- A process polls for one waiter of a mutex that another acquisition holds.
-- Earns 80 % of the time of `poll`.
local function wait_on()
  local rest, expires, forget = UNPACK_HEAD.plain(seen, 'expires kept')
  local queued, holder = UNPACK_REST.plain(seen, rest, 'queued holder')
  if holder == '' or holder == ids[1] or expires <= now then return nil end
  local front, before, pause = {}, 0, 0
  -- the order of few waiters tells how many there are, and the place
  if queued <= FRONT then
    front = first_waiters()
    if #front ~= queued then return nil end
    while before < queued and front[before + 1] ~= ids[1] do before = before + 1 end
    if before == queued then return nil end
  else
    before = redis.call('ZRANK', queue, ids[1])
    if not before or redis.call('ZCARD', queue) ~= queued then return nil end
    if period > 0 and before >= 8 then front = first_waiters() end
  end
  if period > 0 then pause = pause_of(ids[1], front, before) end
  local extra = pause > 0 and pause - period or 0
  local kept = kept_until(forget, expires)
  local summary = PACK_HEAD.plain({ expires = expires, kept = kept }) .. string.sub(seen, rest + 1)
  local waiters = UNPACK.process(process, 'waiters')
  save(forget, kept, true, summary, 'n:' .. process_of(ids[1]),
    packed_process(waiters, now, now + (patience + extra) * 1000, pause > 0 and now + pause * 1000))
  return { 'polled', now, expires - now, { { 'queued' } }, pause }
end

if is_plain and waits and process and patience > 0 then
  local reply = wait_on()
  if reply then return reply end
end
