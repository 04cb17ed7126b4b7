-- Messages to the channels of processes. The name of a sharded channel ends with a hash tag. There
-- are such channels only on a cluster: see cluster-channels.ts.
local function is_sharded(channel)
  return string.sub(channel, -1) == '}'
end

-- The number of receivers at this node, or an error.
local function publish(channel, message)
  return redis.pcall(is_sharded(channel) and 'SPUBLISH' or 'PUBLISH', channel, message)
end
