--[[ releaseMany: releases several mutexes without waiters, each as `release` does; errors stay
     apart.
  KEYS
    names...   key     the main record of each resource; on a cluster none
  ARGV
    terms      string  as in release.lua
    ids...     string  the acquisition of each resource; on a cluster, before these a key of another
                       node, or '', and the main record of each resource
  REPLY
    now, then a number for each lease that was not released: its place; it needs a call of its own;
    or 0: nothing is done, because the node does not refuse the key of another node
    or -1: nothing is done, because the cluster is down
]]
local terms = ARGV[1]
local ids = { unpack(ARGV, 2) }
--- @include "lib/release-terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/names.lua"
--- @include "lib/kept.lua"

local function free(resource, id)
  --- @include "lib/peek.lua"
  --- @include "lib/free.lua"
end

local reply = { now }
for place = 1, #names do
  local _, freed = pcall(free, names[place], ids[place])
  if freed ~= now then reply[#reply + 1] = place end
end
return reply
