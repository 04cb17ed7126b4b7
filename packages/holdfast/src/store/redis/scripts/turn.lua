--[[ turn: ends a root and queues the next root of its process. Idempotent by id.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    id         string  the root that ends
    own_fence  int     its fence, as it was granted
    last_used  int     the last fence that a task of the root used
    again      string  the next root of the process, or ''
    ttl        ms      length of its lease
    claim      ms      claim window: length of a pushed lease, if shorter than ttl
    hand_offs  int     hand-offs allowed in the process
    channel    string  the channel for the push of the grant, or ''
    waited     ms      how long its oldest task has waited in its process
    tasks      int     how many tasks wait for it
    patience   ms      silence after which this process counts as dead
    retention  ms      how long the resource is kept after its last use
    meta       string  free text
    token      string  a secret that the push of the grant repeats, or ''
    fair       int     0 or 1, as in acquire; may be left out if it is 0
    old_ticket int     place in the queue that its tasks had; may be left out if there is none
  REPLY
    freed now again | absent now again
    again: granted fence left hand_offs | queued ticket next | absent
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local own_fence = tonumber(ARGV[2])
local last_used = tonumber(ARGV[3])
local again = ARGV[4]
local ttl = tonumber(ARGV[5])
local claim = tonumber(ARGV[6])
local hand_offs = tonumber(ARGV[7])
local channel = ARGV[8]
local waited = tonumber(ARGV[9])
local tasks = tonumber(ARGV[10])
local patience = tonumber(ARGV[11])
local retention = tonumber(ARGV[12])
local meta = ARGV[13]
local token = ARGV[14]
local fair = tonumber(ARGV[15] or 0)
local old_ticket = tonumber(ARGV[16] or 0)
--- @include "lib/peek-to-write.lua"
--- @include "lib/plain.lua"

-- Queues the next root behind others, and grants the lock to the first waiter.
local function turn_queued(place, last, last_ticket, queued, fair_waiting, forget)
  local process = process_of(again)
  local count = redis.call('HGET', resource, 'n:' .. process)
  if redis.call('ZCARD', queue) ~= queued then return nil end
  if redis.pcall('ZADD', queue, 'NX', string.format('%.0f', place), again) ~= 1 then return nil end
  local first, ticket = first_waiter()
  if first and first ~= again and process_of(first) ~= process then
    local expires = grant_next(
      first, last, last_ticket, queued + 1, fair_waiting + fair, forget,
      'w:' .. again,
      cmsgpack.pack(place, 1, ttl, claim, hand_offs, fair, '', channel, token, tasks, meta),
      'n:' .. process, counted(count, 1, patience))
    if expires then return { 'queued', place, expires - now } end
  end
  if first and first ~= again then redis.call('ZADD', queue, ticket, first) end
  redis.call('ZREM', queue, again)
  return nil
end

-- The short path: the root is the only lease, and at most one waiter is granted.
local function turn_plain()
  local _, expires, forget, queued, holder, last, last_ticket, fair_waiting, passes =
    cmsgpack.unpack(seen)
  if holder ~= id or expires <= now or last - passes ~= own_fence then return nil end
  last = math.min(last, math.max(own_fence, last_used))
  if again == '' then
    if queued == 0 then
      local kept = kept_until(forget, now)
      save(forget, kept, false, cmsgpack.pack(true, 0, kept, 0, '', last, last_ticket, 0))
      return { 'absent' }
    end
    local first, ticket = first_waiter()
    if not first then return nil end
    if grant_next(first, last, last_ticket, queued, fair_waiting, forget) then
      return { 'absent' }
    end
    redis.call('ZADD', queue, ticket, first)
    return nil
  end
  local place = old_ticket
  if place == 0 then place = ticket_after(last_ticket, waited) end
  if queued == 0 then
    local kept, granted_fence = kept_until(forget, now + ttl * 1000), math.max(last + 1, now)
    local alone = fair == 1 and hand_offs or hand_offs_alone(hand_offs)
    save(forget, kept, false, cmsgpack.pack(
      true, now + ttl * 1000, kept, 0, again, granted_fence + alone, math.max(last_ticket, place),
      0, alone, ttl, granted_fence == now and 0 or now),
      'm', cmsgpack.pack(channel, tasks, meta))
    return { 'granted', granted_fence, ttl * 1000, alone, 1 }
  end
  return turn_queued(place, last, math.max(last_ticket, place), queued, fair_waiting, forget)
end

if is_plain then
  local standing = turn_plain()
  if standing then return { 'freed', now, standing } end
end
--- @include "lib/serve.lua"

local function queue_again()
  if again == '' or read_waiter(again) or read_parked(again) then return end
  drop_stale(again)
  if lease_of(again) then return end
  enqueue({
    id = again, owner = '', weight = 1, ttl = ttl, claim = claim, fair = fair,
    hand_offs = hand_offs, channel = channel, token = token, ticket = old_ticket, waited = waited,
    tasks = tasks, meta = meta,
  })
end

-- Ends the lease of the root; false if there is none with the named fence.
local function end_root()
  local h = lease_of(id)
  if not h then
    -- a late duplicate of its request may have queued it
    withdraw(id)
    return false
  end
  -- a root has no owner
  if h.owner ~= '' then return false end
  local is_named = h.fence == own_fence
  leave(h, id)
  take_back_fences(h, is_named and last_used or 0)
  if is_named then queue_again() end
  return is_named
end

local function standing()
  local h = again ~= '' and lease_of(again)
  if h then return { 'granted', h.fence, end_of(h, again) - now, h.hand_offs, hold_count(h) } end
  local w = again ~= '' and read_waiter(again)
  if w then return { 'queued', w.ticket, next_expiry() } end
  return { 'absent' }
end

if not known then return { 'absent', now, { 'absent' } } end
drop_expired()
local ended = end_root()
if again ~= '' then hear_process(again, patience) end
serve(again)
flush()
return { ended and 'freed' or 'absent', now, standing() }
