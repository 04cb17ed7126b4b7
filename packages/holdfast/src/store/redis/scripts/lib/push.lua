--- @include "lib/publish.lua"
-- True if a channel has subscribers of its own. PUBLISH also counts subscribers of patterns, which
-- say nothing about the waiter's process. If the user may not call PUBSUB, PUBLISH decides; so it
-- does for a sharded channel: no pattern matches those, and the channel of a slot that has moved
-- has no subscribers here, although its process lives.
local function has_subscribers(channel)
  if is_sharded(channel) then return true end
  local count = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return count.err ~= nil or tonumber(count[2]) > 0
end

-- If the user may not publish, waiters are served without pushes, and poll. PUBLISH is not
-- replicated. A subscriber on a replica is not counted, so both it and the next waiter would hold
-- the lock.
local function reached(channel, message)
  if not has_subscribers(channel) then return false end
  redis.set_repl(redis.REPL_NONE)
  local receivers = publish(channel, message)
  redis.set_repl(redis.REPL_ALL)
  return receivers ~= 0
end

local function grant_message(id, h_fence, left, hand_offs, holds, token)
  -- not '%s', which ends a text at a NUL
  local numbers = string.format(
    ' %.0f %.0f %.0f %.0f %.0f ', h_fence, now, left, hand_offs, holds)
  return 'g ' .. id .. numbers .. token
end
