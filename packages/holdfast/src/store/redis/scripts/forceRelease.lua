--[[ forceRelease: ends leases without their holders' consent, notifies them, serves the queue.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string  the acquisition that loses its lease, or '' for all
    retention  ms
  REPLY
    forced now left id...: the leases that were ended, and the longest time that one of them had
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local retention = tonumber(ARGV[2])
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"
local FORCE_LIMIT = 1000

local function leases_to_end()
  if id ~= '' then
    local h = lease_of(id)
    return h and { h.id } or {}
  end
  if not many then return sole and { sole.id } or {} end
  return leases > 0 and redis.call('ZRANGE', expiries, 0, FORCE_LIMIT - 1) or {}
end

if not known then return { 'forced', now, 0 } end
drop_expired()
local ids = leases_to_end()
local left = 0
for _, lease_id in ipairs(ids) do
  local h = read_holder(lease_id)
  left = math.max(left, h.expires - now)
  local channels = listeners(h)
  remove(h)
  for _, one in ipairs(channels) do push(one[1], 'r ' .. one[2]) end
end
serve('')
flush()
return { 'forced', now, left, unpack(ids) }
