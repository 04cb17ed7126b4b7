-- A plain record with a lease and without waiters.
-- Earns 74 % of the time of `inspect`.
local function inspect_plain()
  local expires, queued, holder, last, passes, since =
    UNPACK.plain(seen, 'expires queued holder last hand_offs since')
  if queued > 0 or holder == '' or expires <= now then return nil end
  local tasks, meta = UNPACK.about(redis.call('HGET', resource, 'm'), 'tasks meta')
  local own = last - passes
  local view = {
    holder, '', 1, own, passes, expires - now, 1, tasks, since == 0 and own or since, meta, {},
  }
  return { 'inspected', now, 1, 1, 1, last, 1, 0, { view }, {}, 0, {} }
end

if is_plain then
  local inspected = inspect_plain()
  if inspected then return inspected end
end
