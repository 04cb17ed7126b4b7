--- @include "lib/publish.lua"
-- PUBLISH also counts subscribers of patterns, which say nothing about the waiter's process. It
-- decides if the user may not call PUBSUB, and for a sharded channel: no pattern matches that, and
-- if its slot has moved it has no subscribers here, although its process lives.
local function has_subscribers(channel)
  if is_sharded(channel) then return true end
  local count = redis.pcall('PUBSUB', 'NUMSUB', channel)
  return count.err ~= nil or tonumber(count[2]) > 0
end

-- A user without the right to publish serves waiters without pushes; they poll. PUBLISH is not
-- replicated: with a subscriber at a replica, which is not counted, two waiters would hold the
-- lock.
local function publish_here(channel, message)
  redis.set_repl(redis.REPL_NONE)
  local receivers = publish(channel, message)
  redis.set_repl(redis.REPL_ALL)
  return receivers
end

-- The bus of a cluster brings SPUBLISH to the replicas nevertheless. So without a subscriber here
-- the message is empty, and only tells whether the slot has moved.
local function reached(channel, message)
  if not has_subscribers(channel) then return false end
  if is_sharded(channel) then
    local count = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)
    if not count.err and tonumber(count[2]) == 0 then message = '' end
  end
  return publish_here(channel, message) ~= 0
end

local function grant_message(id, h_fence, left, hand_offs, holds, token)
  -- not '%s', which ends at a NUL
  local numbers = string.format(
    ' %.0f %.0f %.0f %.0f %.0f ', h_fence, now, left, hand_offs, holds)
  return 'g ' .. id .. numbers .. token
end
