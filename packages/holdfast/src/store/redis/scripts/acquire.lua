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

-- The short path for a mutex; see engine/engine.ts. A number is cheaper for the client to parse
-- than a list.
local is_short =
  wanted_capacity == '1' and weight == '1' and owner == '' and (is_plain or not seen)
local expires, forget, queued, holder, last, ticket_before, fair_before = 0, nil, 0, '', 0, 0, 0
if is_short then
  local _
  if seen then
    _, expires, forget, queued, holder, last, ticket_before, fair_before = cmsgpack.unpack(seen)
  end
  if holder == '' and queued == 0 then
    local own = math.max(last + 1, now)
    expires = now + ttl * 1000
    if fair == '1' then hand_offs = 0 else hand_offs = hand_offs_alone(hand_offs) end
    local kept = kept_until(forget, expires)
    save(forget, kept, false, cmsgpack.pack(
      true, expires, kept, 0, id, own + hand_offs, ticket_before, 0, hand_offs, ttl,
      own == now and 0 or now), 'm', cmsgpack.pack(channel, tasks, meta))
    if own == now then return now end
    return { 'granted', now, own, ttl * 1000, hand_offs, 1 }
  end
end

-- The lock is held, and the acquisition joins the queue or is in it already.
--- @include "lib/plain.lua"
if is_short then
  local held = holder ~= id and expires > now
  if held and queued == 0 and not wait and kept_until(forget, expires) == forget then
    return { 'refused', now, expires - now }
  end
  if held and wait then
    local process, kept = 'n:' .. process_of(id), kept_until(forget, expires)
    local known, count = unpack(redis.call('HMGET', resource, 'w:' .. id, process))
    local place, terms, patient = tonumber(ticket), nil, tonumber(patience)
    if known then
      terms = { cmsgpack.unpack(known) }
      place, terms[8], terms[9], terms[10] = terms[1], channel, token, tasks
    else
      if place == 0 then place = ticket_after(ticket_before, tonumber(waited)) end
      terms = {
        place, 1, ttl, tonumber(claim), hand_offs, tonumber(fair), '', channel, token, tasks, meta,
      }
    end
    local joins = not known and (queued < tonumber(max_queue) or ticket ~= '0')
      and (queued == 0 or redis.call('ZCARD', queue) == queued)
      and redis.pcall('ZADD', queue, 'NX', string.format('%.0f', place), id) == 1
    if known or joins then
      if joins then
        queued, fair_before = queued + 1, fair_before + terms[6]
        ticket_before = math.max(ticket_before, place)
        if queued == 1 then redis.call('PEXPIREAT', queue, kept) end
      end
      save(forget, kept, true, cmsgpack.pack(
        true, expires, kept, queued, holder, last, ticket_before, fair_before,
        select(9, cmsgpack.unpack(seen))),
        'w:' .. id, cmsgpack.pack(unpack(terms)),
        process, counted(count, joins and 1 or 0, patient))
      return { 'queued', now, place, expires - now }
    end
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
