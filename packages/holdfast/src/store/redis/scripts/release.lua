--[[ release: ends a lease, a hold or a wait; serves the queue. Idempotent by id.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    id         string  the acquisition
    unpassed   flag    1: the lease is never handed off: its reserved fences become free
    retention  ms      how long the resource is kept after its last use
  REPLY
    now (a number instead of a list: freed in the common case)
    | freed now 0 | kept now holds | dequeued now 0 | absent now 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local unpassed = ARGV[2] == '1'
local retention = tonumber(ARGV[3])
--- @include "lib/peek.lua"

-- The common case first, as in acquire.lua: the only holder releases, and there is no waiter.
if seen then
  local c, fence, last_ticket, _, _, _, _, waiting, sole, expires, _, own, hand_offs, _, _, owner =
    cmsgpack.unpack(seen)
  local ordinary = sole == id and expires > now and owner == ''
  if ordinary and waiting == 0 then
    if unpassed and fence == own + hand_offs then fence = own end
    redis.call('PEXPIREAT', resource, math.floor((now + retention * 1000) / 1000))
    redis.call('HSET', resource, 's', cmsgpack.pack(c, fence, last_ticket, 0, 0, 0, 0, 0))
    return now
  end
end
--- @include "lib/serve.lua"

-- Ends a lease or a hold.
local function let_go(h)
  if not leave(h, id) then return 'kept' end
  if unpassed then take_back_fences(h, 0) end
  return 'freed'
end

if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
local status
if held then
  status = let_go(held)
else
  status = withdraw(id) and 'dequeued' or 'absent'
end
serve('')
flush()
return { status, now, status == 'kept' and hold_count(read_holder(held.id)) or 0 }
