-- Messages to processes. A sharded channel's name (see cluster-channels.ts) ends with a hash tag.
local function is_sharded(channel)
  return string.sub(channel, -1) == '}'
end

-- Receivers at this node, or an error.
local function publish(channel, message)
  if is_sharded(channel) then return redis.pcall('SPUBLISH', channel, message) end
  return redis.pcall('PUBLISH', channel, message)
end
