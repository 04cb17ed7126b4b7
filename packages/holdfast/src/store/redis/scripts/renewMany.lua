--[[ renewMany: extends leases of several resources, each as `renew` does; errors stay apart.
  FLAGS
    allow-oom allow-cross-slot-keys
  KEYS
    names...   key     the main record of each resource; or for each resource all three keys of it;
                       on a cluster only the first of these
  ARGV
    ttl        ms      length of each lease from now on
    retention  ms      how long each resource is kept after its last use
    named      number  how many of the following words are the names, on a cluster; 0: none
    rest...    string  these names, then the acquisition of each resource
  REPLY
    now, then two numbers for each lease that was not renewed for exactly `ttl`: its place, and
    microseconds left | 0: absent | -1: an error | -2: unchanged, all three keys are necessary
]]
local ttl = tonumber(ARGV[1])
local retention = tonumber(ARGV[2])
--- @include "lib/clock.lua"
-- Keys of one call must be in one slot. On a cluster, the call names one key, which leads it to its
-- node; the names of the others, in other slots of that node, are arguments.
local named = tonumber(ARGV[3])
local names = named == 0 and { unpack(KEYS, 1) } or { unpack(ARGV, 4, 3 + named) }
local ids = { unpack(ARGV, 4 + named) }
local ABSENT, FAILED, NEEDS_ALL_KEYS = 0, -1, -2
local full = ttl * 1000
local call, unpack_some, sub = redis.call, cmsgpack.unpack_limit, string.sub

-- The end of each lease, in the format of the summary: nine bytes, as each number above 2^32.
local till = now + full
local packed_till = cmsgpack.pack(till)
-- To save writes, the expiry of a key moves only when it comes below half of the retention.
local forget = math.floor((till + retention * 1000) / 1000)
local keep = forget - retention / 2

-- The common case: the only lease of a mutex without waiters. Its end is in the summary twice, and
-- nothing else changes. See lib/record.lua for the order of the values.
local function renew_sole(resource, id)
  local seen = call('HGET', resource, 's')
  if not seen then return ABSENT end
  local before_latest = unpack_some(seen, 4)
  local after_latest, latest = unpack_some(seen, 1, before_latest)
  local before_expires, _, _, waiting, holder = unpack_some(seen, 4, after_latest)
  if holder ~= id or waiting > 0 then return NEEDS_ALL_KEYS end
  local _, expires, _, _, _, _, _, owner = unpack_some(seen, 7, before_expires)
  if owner ~= '' or expires <= now or latest > till then return NEEDS_ALL_KEYS end
  if call('PEXPIRETIME', resource) < keep then call('PEXPIREAT', resource, forget) end
  call('HSET', resource, 's', sub(seen, 1, before_latest) .. packed_till
    .. sub(seen, after_latest + 1, before_expires) .. packed_till .. sub(seen, before_expires + 10))
  return full
end

-- Any other case. Each call has its own copy of the shared functions and of their state.
local function renew(resource, queue, expiries, id)
  --- @include "lib/serve.lua"
  if not known then return ABSENT end
  local stored, exact = redis.call('PEXPIRETIME', resource), forget_at
  forget_at = function()
    local at = exact(retention)
    return stored >= at - retention / 2 and stored or at
  end
  drop_expired()
  local held = lease_of(id)
  if held then extend(held, now + full) end
  serve('')
  flush()
  return held and lease_of(id).expires - now or ABSENT
end

local reply = { now }
local whole = #names > #ids
for place, id in ipairs(ids) do
  local first = whole and 3 * place - 2 or place
  local done, left = pcall(renew_sole, names[first], id)
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
