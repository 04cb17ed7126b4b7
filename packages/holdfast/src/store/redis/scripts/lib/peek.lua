--- @include "lib/clock.lua"
-- A first look at the record: enough for the ordinary case.
local seen = redis.call('HGET', resource, 's')
