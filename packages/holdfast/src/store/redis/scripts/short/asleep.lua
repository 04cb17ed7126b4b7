-- A process polls for one parked waiter of a mutex whose queue is empty.
-- Earns 92 % of the time of `poll`.
local function sleep_on(id)
  local _, _, _, _, _, latest, _, _, queued, forget, holder, expires, _, _, _, _, _, owner =
    cmsgpack.unpack(seen)
  if queued > 0 or holder and (owner ~= '' or expires <= now) then return nil end
  if kept_until(forget, math.max(now, latest)) ~= forget then return nil end
  local first, _, parked = cmsgpack.unpack(sleepers)
  local _, _, till = cmsgpack.unpack(sleeps)
  if till - now < retention * 500 then return nil end
  local oldest = first ~= id and redis.call('HGET', resource, 'c:' .. first)
  if oldest then _, _, till = cmsgpack.unpack(oldest) end
  if till <= now then return nil end
  local pause = period > 0 and parked_pause(parked) or 0
  local extra = pause > 0 and pause - period or 0
  local waiters = UNPACK.process(process, 'waiters')
  redis.call('HSET', resource, 'n:' .. process_of(id),
    packed_process(waiters, now, now + (patience + extra) * 1000, pause > 0 and now + pause * 1000))
  return { 'polled', now, holder and expires - now or 0, { { 'parked' } }, pause }
end

if seen and not is_plain and sleeps and process and patience > 0 then
  local reply = sleep_on(ids[1])
  if reply then return reply end
end
