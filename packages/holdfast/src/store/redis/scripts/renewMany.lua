--[[ renewMany: extends leases of several resources, each as `renew` does; errors stay apart.
  Unexplained words: see acquire.lua.
  FLAGS
    allow-oom allow-cross-slot-keys
  KEYS
    names...   key     the main record of each resource, or all three keys of each;
                       on a cluster only the first of these
  ARGV
    ttl        ms      of each lease from now on; 0: unchanged
    retention  ms
    named      number  the number of names that follow, on a cluster; 0: none
    rest...    string  these names, then the acquisition of each resource
  REPLY
    now, then two numbers for each lease that was not renewed for exactly `ttl`: its place, and
    microseconds left | 0: absent | -1: an error | -2: unchanged, all three keys are necessary
]]
local ttl = tonumber(ARGV[1])
local retention = tonumber(ARGV[2])
--- @include "lib/clock.lua"
local named = tonumber(ARGV[3])
local names = named == 0 and { unpack(KEYS, 1) } or { unpack(ARGV, 4, 3 + named) }
local ids = { unpack(ARGV, 4 + named) }
local ABSENT, FAILED, NEEDS_ALL_KEYS = 0, -1, -2
local full = ttl * 1000
local call, sub = redis.call, string.sub

local till = now + full
--- @include "lib/kept.lua"

--- @include "short/renew-many.lua"

-- Any other case, with an own state of the shared functions.
local function renew(resource, queue, expiries, id)
  --- @include "lib/peek-to-write.lua"
  --- @include "lib/serve.lua"
  if not known then return ABSENT end
  drop_expired()
  local held = lease_of(id)
  if held then extend(held, id, now + full) end
  serve('')
  flush()
  return held and end_of(lease_of(id), id) - now or ABSENT
end

local reply = { now }
local whole = #names > #ids
for place, id in ipairs(ids) do
  local first = whole and 3 * place - 2 or place
  local done, left = pcall(renew_plain, names[first], id)
  if whole and left == NEEDS_ALL_KEYS then
    done, left = pcall(renew, names[first], names[first + 1], names[first + 2], id)
  end
  if not done then left = FAILED end
  if left ~= full then
    reply[#reply + 1] = place
    reply[#reply + 1] = left
  end
end
return reply
