--[[ releaseMany: does for several mutexes what `release` does for one; errors stay apart.
  KEYS
    names...   key     as in acquireMany.lua
  ARGV
    terms      string  as in release.lua
    ids...     string  as in acquireMany.lua
  REPLY
    now, then two values for each release whose reply is not now: its place, and its reply, or 0: it
    needs a call of its own;
    or 0 or -1, as in acquireMany.lua
]]
local terms = ARGV[1]
local ids = { unpack(ARGV, 2) }
--- @include "lib/release-terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/names.lua"
--- @include "lib/kept.lua"

-- The general path is made only for a mutex with waiters.
local function release(resource, id)
  local queue, expiries
  --- @include "lib/peek-to-write.lua"
  --- @include "short/free.lua"
  queue, expiries = resource .. ':q', resource .. ':x'
  --- @include "lib/release.lua"
end

local reply = { now }
for place = 1, #names do
  local done, answer = pcall(release, names[place], ids[place])
  if answer ~= now then
    reply[#reply + 1] = place
    reply[#reply + 1] = done and answer or 0
  end
end
return reply
