--- @include "lib/clock.lua"
-- The hand-offs of a root that is granted while no other acquisition waits.
local function hand_offs_alone(hand_offs)
  return math.min(1000, 8 * hand_offs)
end

-- Reads the summary of the record: enough for the common case.
local seen = redis.call('HGET', resource, 's')
