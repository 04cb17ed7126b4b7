--[[ release: ends a lease, a hold or a wait; serves the queue. Idempotent by id.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    id         string  the acquisition
    to         string  the successor: a waiter of the same process to hand off to, or ''
    unpassed   flag    1: the lease is never handed off: its reserved fences become free
    retention  ms      how long the resource is kept after its last use
  REPLY
    now (a number instead of a list: freed in the common case)
    | freed now 0 | kept now holds | passed now 0 | dequeued now 0 | absent now 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local to = ARGV[2]
local unpassed = ARGV[3] == '1'
local retention = tonumber(ARGV[4])
--- @include "lib/peek.lua"

-- The common case first, as in acquire.lua: the only holder releases, and there is no waiter.
if seen and to == '' then
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

-- Only a mutex has hand-offs, so there is no other holder.
local function may_hand_off(h, successor)
  if to == '' or h.hand_offs == 0 or h.owner ~= '' or capacity > 1 then return false end
  return not successor or (successor.owner == '' and successor.weight == 1)
end

local function let_go(h)
  if not leave(h, id) then return 'kept' end
  if to == '' and unpassed then take_back_fences(h, 0) end
  local successor = to ~= '' and read_waiter(to)
  if not may_hand_off(h, successor) then return 'freed' end
  local from = successor or h
  -- the successor may crash: its lease is no longer than its own ttl
  local expires = math.min(h.expires, now + from.ttl * 1000)
  dequeue(to)
  add({
    id = to, owner = '', holds = '', weight = h.weight,
    ttl = from.ttl, channel = from.channel, tasks = 0, meta = from.meta,
    fence = h.fence + 1, hand_offs = h.hand_offs - 1, since = now, expires = expires,
    signalled = successor and successor.signalled or nil,
  })
  return 'passed'
end

if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
local status
if held then
  status = let_go(held)
elseif withdraw(id) then
  status = 'dequeued'
else
  status = to ~= '' and lease_of(to) and 'passed' or 'absent'
end
serve('')
flush()
return { status, now, status == 'kept' and hold_count(read_holder(held.id)) or 0 }
