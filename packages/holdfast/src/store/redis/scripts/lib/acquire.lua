-- What follows short/take.lua, see acquire.lua; returns the reply.
--
-- The lock is held, and the acquisition joins the queue or is in it.
local claim, max_queue, patience, weight, wanted_capacity =
  string.match(terms, '(%S+) (%S+) (%S+) (%S+) (%S+)', rest)
claim, max_queue, patience = tonumber(claim), tonumber(max_queue), tonumber(patience)
--- @include "short/plain.lua"
--- @include "short/join.lua"

weight, wanted_capacity = tonumber(weight), tonumber(wanted_capacity)
--- @include "lib/serve.lua"

local function newcomer()
  return {
    id = id, owner = owner, weight = weight, ttl = ttl, claim = claim, fair = fair,
    hand_offs = hand_offs,
    channel = channel, token = token, ticket = ticket, waited = waited, tasks = tasks,
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
    return granted(grant(newcomer(), ttl), id)
  elseif not wait then
    serve('')
    local own = rejoin(newcomer())
    if own then return own end
    if free() then return granted(grant(newcomer(), ttl), id) end
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
  if h then return granted(h, id) end
  local queued = read_waiter(id)
  if queued then
    local tells = not waiter and fair == 1 and hand_offs > 0
    local ahead = tells and ahead_of(id, waiting, only_lease())
    return { 'queued', now, queued.ticket, next_expiry(), ahead }
  end
  return rejoin(newcomer()) or { 'mismatch', now, capacity, kind }
end

drop_expired()
drop_stale(id)
redeliver_signals()
local held = lease_of(id)
local function idle()
  return used == 0 and waiting == 0 and parked_count() == 0
end
local function agreed()
  return kind == wanted_kind and capacity == wanted_capacity or read('w:' .. id)
end
local reply
if held then reply = granted(held, id) elseif agreed() then reply = rejoin(newcomer()) end
if reply or not (agreed() or idle()) then serve('') end
-- See engine/engine.ts.
local may_agree = ticket == 0 or capacity == 0
if may_agree and idle() then set_capacity(wanted_kind, wanted_capacity) end
if not reply then
  reply = agreed() and enter() or { 'mismatch', now, capacity, kind }
end
flush()
return reply
