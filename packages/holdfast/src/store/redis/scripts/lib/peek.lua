--- @include "lib/clock.lua"
-- Reads the summary of the record: enough for the common case.
local seen = redis.call('HGET', resource, 's')
