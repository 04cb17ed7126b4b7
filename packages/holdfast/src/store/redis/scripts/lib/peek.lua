--- @include "lib/clock.lua"
-- Reads the summary of the record.
local seen = redis.call('HGET', resource, 's')
--- @include "lib/save.lua"
