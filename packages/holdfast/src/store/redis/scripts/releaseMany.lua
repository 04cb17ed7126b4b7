--[[ releaseMany: releases several mutexes without waiters, each as `release` does; errors stay
     apart.
  KEYS
    names...   key     the main record of each resource
  ARGV
    terms      string  as in release.lua
    ids...     string  the acquisition of each resource
  REPLY
    now, then a number for each lease that was not released: its place; it needs a call of its own
]]
local terms = ARGV[1]
local ids = { unpack(ARGV, 2) }
--- @include "lib/release-terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/kept.lua"

local function free(resource, id)
  --- @include "lib/peek.lua"
  --- @include "lib/free.lua"
end

local reply = { now }
for place = 1, #KEYS do
  local _, freed = pcall(free, KEYS[place], ids[place])
  if freed ~= now then reply[#reply + 1] = place end
end
return reply
