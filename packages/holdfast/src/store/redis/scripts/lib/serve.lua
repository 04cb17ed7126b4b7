--- @include "lib/holders.lua"
--- @include "lib/push.lua"
-- Serves the queue: see engine/serve.ts.
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000

local function read_waiter(id)
  local packed = read('w:' .. id)
  if not packed then return nil end
  local w = { id = id }
  UNPACK.waiter(packed, w)
  return w
end

local function save_waiter(w)
  -- only signalled waiters have it
  local signal = { w.signalled }
  writes['w:' .. w.id] = PACK.waiter(w, { tasks = w.tasks or 0, signalled = unpack(signal) })
end

local function enqueue(w)
  if w.ticket == 0 then w.ticket = ticket_after(last_ticket, w.waited or 0) end
  plain = plain and w.weight == 1 and w.owner == '' and not w.signalled
  last_ticket = math.max(last_ticket, w.ticket)
  guard()
  redis.call('ZADD', queue, w.ticket, w.id)
  enter_process(w.id)
  save_waiter(w)
  fair_waiting, waiting = fair_waiting + w.fair, waiting + 1
end

local function dequeue(id)
  local w = read_waiter(id)
  if not w then return nil end
  guard()
  redis.call('ZREM', queue, id)
  leave_process(id)
  writes['w:' .. id] = false
  fair_waiting, waiting = fair_waiting - w.fair, waiting - 1
  return w
end

local function withdraw(id)
  local w = dequeue(id)
  if not w then return remove_parked(id) end
  if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end
  return true
end

-- As `reached`, once a channel had no subscriber.
local dead = {}
local function push(channel, message)
  if dead[channel] then return false end
  guard()
  dead[channel] = not reached(channel, message)
  return not dead[channel]
end

local function wake(condition, count)
  if parked_count() == 0 then return 0 end
  local woken = 0
  for _ = 1, SIGNAL_LIMIT do
    local id = chain('l:' .. condition).first
    if id == '' or (count > 0 and woken >= count) then break end
    local e = remove_parked(id)
    if not is_silent(id) and (e.channel == '' or push(e.channel, 's ' .. id)) then
      e.ticket, e.signalled = 0, condition
      enqueue(e)
      woken = woken + 1
    end
  end
  return woken
end

local function redeliver_signals()
  local list = unconsumed_signals
  unconsumed_signals = {}
  for _, condition in ipairs(list) do wake(condition, 1) end
end

-- Pushes before the lease is written, but after `guard`: then no write can fail.
local function announce(w, own, lease)
  local h_fence, hand_offs, left, holds = nil, nil, lease * 1000, 1
  if own then
    h_fence, hand_offs, holds = own.fence, own.hand_offs, hold_count(own) + 1
  else
    h_fence, hand_offs = terms(w)
  end
  return push(w.channel, grant_message(w.id, h_fence, left, hand_offs, holds, w.token))
end

local function joins(own, weight)
  return own.weight >= weight and hold_count(own) < HOLD_LIMIT
end

local function rejoin(wanted)
  local own = lease_of_owner(wanted.owner)
  if not own then return nil end
  local w = dequeue(wanted.id)
  local signalled = w and w.signalled
  if not joins(own, wanted.weight) then
    if signalled then unconsumed_signals[#unconsumed_signals + 1] = signalled end
    if own.weight < wanted.weight then return { 'conflict', now, own.weight } end
    return { 'crowded', now, hold_count(own) }
  end
  wanted.signalled = signalled
  return granted(join(own, wanted, wanted.ttl), wanted.id)
end

local function is_paused(w)
  local p = w.channel ~= '' and read_process(w.id)
  return p and p.paused > 1
end

-- The command names the waiter, or its living process was notified.
local function tell(w, self, own, lease)
  if w.id == self then return true end
  return not is_silent(w.id) and (w.channel == '' or announce(w, own, lease))
end

-- See engine/idle.ts.
local paused_grant = false
local function ask_paused()
  local count = lapsed and 128 or paused_grant and 8 or 0
  if count == 0 then return end
  lapsed, paused_grant = false, false
  local first, names = redis.call('ZRANGE', queue, 0, count - 1), {}
  if #first == 0 then return end
  for _, id in ipairs(first) do
    names[#names + 1] = 'w:' .. id
    names[#names + 1] = 'n:' .. process_of(id)
  end
  load(names)
  for at, id in ipairs(first) do
    local w, p = read_waiter(id), read_process(id)
    if w and p and p.paused > 1 and w.channel ~= '' then
      p.paused = at <= 8 and 1 or 0
      p.till, p.changed = math.min(p.till, now + 2 * w.claim * 1000), true
      guard()
      publish_here(w.channel, 'a ' .. id)
    end
  end
end

local function grant_in_order(self)
  if waiting == 0 then return end
  for _ = 1, SERVE_LIMIT do
    local id = redis.call('ZRANGE', queue, 0, 0)[1]
    if not id then return end
    local w = read_waiter(id)
    if not w then
      guard()
      redis.call('ZREM', queue, id)
    else
      local own = lease_of_owner(w.owner)
      local hopeless = own and not joins(own, w.weight) or (not own and w.weight > capacity)
      if not hopeless and not own and not fits(w.weight) then return end
      dequeue(id)
      local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
      if not hopeless and tell(w, self, own, lease) then
        paused_grant = paused_grant or (id ~= self and is_paused(w))
        if own then join(own, w, lease) else grant(w, lease) end
      else
        if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end
        redeliver_signals()
      end
    end
  end
  more = waiting > 0
end

local function serve(self)
  redeliver_signals()
  grant_in_order(self)
  ask_paused()
end
