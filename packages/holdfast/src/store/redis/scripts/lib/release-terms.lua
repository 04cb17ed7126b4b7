-- The terms of a release: see release.lua.
local unpassed = string.byte(terms) == 49
local retention = tonumber(string.sub(terms, 3))
