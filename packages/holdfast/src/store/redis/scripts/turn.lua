--[[ turn: ends a root and queues the next root of its process. Idempotent by id.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string  the root that ends
    own_fence  int     its fence, as it was granted
    last_used  int     the last fence that it used
    again      string  the next root of the process, or ''
    ttl        ms      length of its lease
    claim      ms
    hand_offs  int
    channel    string
    waited     ms
    tasks      int
    patience   ms
    retention  ms
    meta       string
    token      string
    fair       int     as in acquire.lua; may be left out if it is 0
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

--- @include "short/turn.lua"
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

-- False without one with the named fence.
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
