--- @include "lib/clock.lua"
--- @include "lib/kept.lua"
-- Without a record, `seen` is false. A plain record's summary is enough for the short paths.
local is_plain = seen and string.byte(seen) == 195

local function hand_offs_alone(hand_offs)
  return math.max(hand_offs, math.min(128, 8 * hand_offs))
end

-- Also further fields. PEXPIREAT first: see lib/record.lua.
local function save(forget, kept, queued, ...)
  local done = redis.pcall('HSET', resource, 's', ...)
  if type(done) == 'table' then
    if seen then redis.call('PEXPIREAT', resource, kept) end
    redis.call('HSET', resource, 's', ...)
  end
  if kept ~= forget and type(redis.pcall('PEXPIREAT', resource, kept)) == 'table' then
    -- without the right to it, no new record stays
    if not seen then redis.call('DEL', resource) end
    redis.call('PEXPIREAT', resource, kept)
  end
  if queued and kept ~= forget then redis.call('PEXPIREAT', queue, kept) end
end
