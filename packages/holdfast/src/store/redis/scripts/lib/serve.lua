--- @include "lib/holders.lua"
--- @include "lib/publish.lua"
-- Serves the queue: see engine/serve.ts.
local SERVE_LIMIT = 1000
local SIGNAL_LIMIT = 1000

local function read_waiter(id)
  local packed = read('w:' .. id)
  if not packed then return nil end
  local w = { id = id }
  w.ticket, w.weight, w.ttl, w.claim, w.hand_offs, w.fair, w.owner, w.channel, w.token, w.tasks,
    w.meta, w.signalled = cmsgpack.unpack(packed)
  return w
end

local function save_waiter(w)
  -- only waiters that were signalled have this value
  local signal = { w.signalled }
  writes['w:' .. w.id] = cmsgpack.pack(
    w.ticket, w.weight, w.ttl, w.claim, w.hand_offs, w.fair, w.owner, w.channel, w.token,
    w.tasks or 0, w.meta, unpack(signal))
end

-- The ticket of a root whose oldest task has waited in its process for this time; 0 for the end of
-- the queue. If the last ticket is in the future, the clock was set back.
local function place_after(waited_ms)
  if waited_ms == 0 or last_ticket > now then return 0 end
  return math.max(1, now - waited_ms * 1000)
end

local function enqueue(w)
  if w.ticket == 0 then w.ticket = place_after(w.waited or 0) end
  if w.ticket == 0 then w.ticket = math.max(last_ticket + 1, now) end
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

-- Removes a waiter from the queue or from its condition.
local function withdraw(id)
  local w = dequeue(id)
  if not w then return remove_parked(id) end
  if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end
  return true
end

-- True if a channel has subscribers of its own. PUBLISH also counts subscribers of patterns, which
-- say nothing about the waiter's process. If the user may not call PUBSUB, the result of PUBLISH
-- decides. It also decides for a sharded channel: no pattern matches those, and the channel of a
-- slot that has moved to another node has no subscribers here, although its process lives.
local subscribers = {}
local function has_subscribers(channel)
  if is_sharded(channel) then return true end
  if subscribers[channel] == nil then
    local count = redis.pcall('PUBSUB', 'NUMSUB', channel)
    subscribers[channel] = count.err ~= nil or tonumber(count[2]) > 0
  end
  return subscribers[channel]
end

-- True if the channel has a subscriber. If the user may not publish, waiters are served without
-- pushes and find their grants by polling. PUBLISH is not replicated. A subscriber on a replica is
-- not counted, so both it and the next waiter would hold the lock.
local dead = {}
local function push(channel, message)
  if dead[channel] or not has_subscribers(channel) then return false end
  guard()
  redis.set_repl(redis.REPL_NONE)
  local receivers = publish(channel, message)
  redis.set_repl(redis.REPL_ALL)
  dead[channel] = receivers == 0
  return receivers ~= 0
end

-- Moves `count` parked waiters, or all (0), to the end of the queue.
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

-- Wakes the next waiter for each unconsumed signal.
local function redeliver_signals()
  local list = unconsumed_signals
  unconsumed_signals = {}
  for _, condition in ipairs(list) do wake(condition, 1) end
end

-- The script pushes before it writes the lease, but after `guard`: after that no write can fail.
local function announce(w, own, lease)
  local h_fence, hand_offs, left, holds = nil, nil, lease * 1000, 1
  if own then
    h_fence, hand_offs, left = own.fence, own.hand_offs, math.max(own.expires - now, left)
    holds = hold_count(own) + 1
  else
    h_fence, hand_offs = terms(w)
  end
  -- not '%s', which ends a text at a NUL
  local numbers = string.format(
    ' %.0f %.0f %.0f %.0f %.0f ', h_fence, now, left, hand_offs, holds)
  return push(w.channel, 'g ' .. w.id .. numbers .. w.token)
end

-- True if an acquisition of that weight may join the live lease of its owner.
local function joins(own, weight)
  return own.weight >= weight and hold_count(own) < HOLD_LIMIT
end

-- Joins an acquisition to the live lease of its owner, or returns why that is impossible.
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
  return granted(join(own, wanted, wanted.ttl))
end

-- True if a waiter can be granted: the command names it, or its process is alive and was notified.
local function tell(w, self, own, lease)
  if w.id == self then return true end
  return not is_silent(w.id) and (w.channel == '' or announce(w, own, lease))
end

-- Grants permits to waiters, in order. `self` is the acquisition that the command names: the reply
-- tells it.
local function serve(self)
  redeliver_signals()
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
      -- the waiter can never be granted: it may not join the lease of its owner, or its weight is
      -- above the capacity
      local hopeless = own and not joins(own, w.weight) or (not own and w.weight > capacity)
      if not hopeless and not own and not fits(w.weight) then return end
      dequeue(id)
      local lease = id == self and w.ttl or math.min(w.ttl, w.claim)
      if not hopeless and tell(w, self, own, lease) then
        if own then join(own, w, lease) else grant(w, lease) end
      else
        if w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end
        redeliver_signals()
      end
    end
  end
  more = waiting > 0
end
