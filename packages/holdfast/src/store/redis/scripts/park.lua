--[[ park: releases a lease and waits for a signal, in one step. Idempotent by `as`.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string  the acquisition that holds the lease
    as         string  the acquisition that waits
    condition  string  the condition
    want       string  signal | permits | nothing
    ttl        ms      length of its next lease
    claim      ms
    fair       flag
    channel    string
    max_parked int     maximum number of parked waiters
    patience   ms
    retention  ms      how long the resource, and a waiter without polls, is kept
    meta       string
    token      string
    last_used  int     the last fence that a task of the lease used, or 0
  REPLY
    parked now | queued now ticket next signalled | granted now fence left hand_offs holds signalled
    | shared now holds | full now length | absent now
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local as = ARGV[2]
local condition = ARGV[3]
local want = ARGV[4]
local ttl = tonumber(ARGV[5])
local claim = tonumber(ARGV[6])
local fair = tonumber(ARGV[7])
local channel = ARGV[8]
local max_parked = tonumber(ARGV[9])
local patience = tonumber(ARGV[10])
local retention = tonumber(ARGV[11])
local meta = ARGV[12]
local token = ARGV[13]
local last_used = tonumber(ARGV[14])
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"

local function park_instead_of(h)
  local since = math.max(last_ticket + 1, now)
  last_ticket = since
  add_parked({
    id = as, condition = condition, owner = h.owner, weight = h.weight, ttl = ttl, claim = claim,
    fair = fair, channel = channel, token = token, meta = meta,
    since = since, till = now + retention * 1000,
  })
end

-- Returns a refusal, or nothing.
local function enter()
  local e, w = read_parked(as), read_waiter(as)
  if e then
    e.channel, e.token, changed[as] = channel, token, true
    hear(as)
  elseif w then
    w.channel, w.token = channel, token
    save_waiter(w)
  elseif not lease_of(as) then
    local h = lease_of(id)
    if not h then return { 'absent', now } end
    local holds = hold_count(h)
    if holds > 1 or kind ~= 1 then return { 'shared', now, holds } end
    local length = parked_count()
    if want == 'signal' and length >= max_parked then return { 'full', now, length } end
    leave(h, id)
    take_back_fences(h, last_used)
    park_instead_of(h)
  end
end

local function back_to_the_queue()
  local e = remove_parked(as)
  if not e then return end
  e.ticket = 0
  enqueue(e)
end

local function give_up()
  remove_parked(as)
  local w = dequeue(as)
  if w and w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end
  local unused = lease_of(as)
  local signalled = unused and unused.signalled
  if unused and leave(unused, as) and signalled then
    unconsumed_signals[#unconsumed_signals + 1] = signalled
  end
  local h = lease_of(id)
  if h then leave(h, id) end
  return { 'absent', now }
end

local function standing()
  local h, w = lease_of(as), read_waiter(as)
  if h then
    local reply = granted(h, as)
    reply[7] = h.signalled and 1 or 0
    return reply
  end
  if not w then return { 'parked', now } end
  return { 'queued', now, w.ticket, next_expiry(), w.signalled and 1 or 0 }
end

if not known then return { 'absent', now } end
drop_expired()
redeliver_signals()
local refusal
if want == 'nothing' then
  refusal = give_up()
else
  refusal = enter()
  if not refusal then hear_process(as, patience) end
  if not refusal and want == 'permits' then back_to_the_queue() end
end
serve(as)
flush()
return refusal or standing()
