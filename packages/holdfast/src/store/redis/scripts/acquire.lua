--[[ acquire: takes permits, or joins the queue, or is refused. Idempotent by id.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry, where there may be many
  ARGV
    id         string  the acquisition
    owner      string  the owner for re-entry, or ''
    weight     int     permits requested
    wanted_capacity int the capacity as the caller knows it
    ttl        ms      length of the lease
    claim      ms      claim window: length of a pushed lease, if shorter than ttl
    fair       flag    1: no grant allows hand-offs while this acquisition waits
    hand_offs  int     hand-offs allowed in the process
    channel    string  the channel for the push of the grant, or ''
    wait       flag    1: join the queue if the permits are not free
    ticket     us      the place in the queue to get back, or 0
    max_queue  int     longest queue that a newcomer joins
    patience   ms      silence after which this process counts as dead
    retention  ms      how long the resource is kept after its last use
    meta       string  free text
    token      string  a secret that the push of the grant repeats, or ''
    waited     ms      how long the oldest task of a root has waited in its process, or 0
    tasks      int     how many tasks wait for this root; 0 for an acquisition that is no root
  REPLY
    now (a number instead of a list: granted in the common case, with now as fence, for ttl)
    | granted now fence left hand_offs holds | queued now ticket next | refused now next
    | full now length | mismatch now capacity | conflict now weight | crowded now holds
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local owner = ARGV[2]
local weight = ARGV[3]
local wanted_capacity = ARGV[4]
local ttl = tonumber(ARGV[5])
local claim = ARGV[6]
local fair = ARGV[7]
local hand_offs = tonumber(ARGV[8])
local channel = ARGV[9]
local wait = ARGV[10] == '1'
local ticket = ARGV[11]
local max_queue = ARGV[12]
local patience = ARGV[13]
local retention = tonumber(ARGV[14])
local meta = ARGV[15]
local token = ARGV[16]
local waited = ARGV[17]
local tasks = tonumber(ARGV[18])
--- @include "lib/peek.lua"

-- The common case first, with as few reads as possible: a mutex without holders and waiters. The
-- code below gives the same result at twice the cost. A number is cheaper for the client to parse
-- than a list.
if wanted_capacity == '1' and owner == '' then
  local c, last, last_ticket, used, waiting, _ = 1, 0, 0, 0, 0
  if seen then c, last, last_ticket, used, _, _, _, waiting = cmsgpack.unpack(seen) end
  local may_agree = c == 1 or ticket == '0'
  if used == 0 and may_agree and waiting == 0 then
    local own, expires = math.max(last + 1, now), now + ttl * 1000
    if fair == '1' then hand_offs = 0 else hand_offs = hand_offs_alone(hand_offs) end
    local at = math.floor((expires + retention * 1000) / 1000)
    if seen then redis.call('PEXPIREAT', resource, at) end
    redis.call('HSET', resource, 's', cmsgpack.pack(
      1, own + hand_offs, last_ticket, 1, expires, 0, 1, 0,
      id, expires, 1, own, hand_offs, ttl, now, '', '', channel, tasks, meta))
    if not seen then redis.call('PEXPIREAT', resource, at) end
    if own == now then return now end
    return { 'granted', now, own, ttl * 1000, hand_offs, 1 }
  end
end

weight, wanted_capacity, claim = tonumber(weight), tonumber(wanted_capacity), tonumber(claim)
fair, ticket, max_queue = tonumber(fair), tonumber(ticket), tonumber(max_queue)
patience = tonumber(patience)
--- @include "lib/serve.lua"

local function newcomer()
  return {
    id = id, owner = owner, weight = weight, ttl = ttl, claim = claim, fair = fair,
    hand_offs = hand_offs,
    channel = channel, token = token, ticket = ticket, waited = tonumber(waited), tasks = tasks,
    meta = meta,
  }
end

local function free()
  return fits(weight) and waiting == 0
end

local function enter()
  local waiter = read_waiter(id)
  if waiter then
    waiter.channel, waiter.token, waiter.tasks = channel, token, tasks
    save_waiter(waiter)
  elseif free() then
    return granted(grant(newcomer(), ttl))
  elseif not wait then
    serve('')
    -- a waiter of the same owner may have been granted by `serve`
    local own = rejoin(newcomer())
    if own then return own end
    if free() then return granted(grant(newcomer(), ttl)) end
    return { 'refused', now, next_expiry() }
  elseif ticket == 0 and waiting >= max_queue then
    serve('')
    return { 'full', now, waiting }
  else
    enqueue(newcomer())
  end
  hear_process(id, patience)
  serve(id)
  local h = lease_of(id)
  if h then return granted(h) end
  local queued = read_waiter(id)
  if queued then return { 'queued', now, queued.ticket, next_expiry() } end
  return rejoin(newcomer()) or { 'mismatch', now, capacity }
end

drop_expired()
drop_stale(id)
redeliver_signals()
local held = lease_of(id)
local reply
if held then reply = granted(held) else reply = rejoin(newcomer()) end
local function idle()
  return used == 0 and waiting == 0 and parked_count() == 0
end
-- An acquisition that waits already is served in turn, even if the capacity has changed since.
local function agreed()
  return capacity == wanted_capacity or read('w:' .. id)
end
-- An expired lease, or a waiter that left the queue to join a lease, may have freed permits.
if reply or not (agreed() or idle()) then serve('') end
-- A waiter that lost its place repeats its request with a ticket: its capacity may be out of date.
local may_agree = ticket == 0 or capacity == 0
if capacity ~= wanted_capacity and may_agree and idle() then set_capacity(wanted_capacity) end
if not reply then
  reply = agreed() and enter() or { 'mismatch', now, capacity }
end
flush()
return reply
