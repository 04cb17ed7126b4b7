--- @include "lib/clock.lua"
local seen = redis.call('HGET', resource, 's')
--- @include "lib/save.lua"
