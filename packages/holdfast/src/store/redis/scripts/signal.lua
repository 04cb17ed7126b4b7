--[[ signal: moves parked waiters of a condition to the end of the queue. Idempotent by `seq`.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string  the acquisition that signals, and must hold
    condition  string  the condition
    count      int     how many waiters to wake, or 0 for all
    seq        int     grows with each signal of this acquisition
    retention  ms
  REPLY
    signalled now woken left | absent now 0 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local condition = ARGV[2]
local count = tonumber(ARGV[3])
local seq = tonumber(ARGV[4])
local retention = tonumber(ARGV[5])
--- @include "lib/peek-to-write.lua"
--- @include "lib/serve.lua"

if not known then return { 'absent', now, 0, 0 } end
drop_expired()
redeliver_signals()
-- only waiters of a mutex are parked
local h = kind == 1 and lease_of(id)
if h and seq > sent_by(h, id) then
  local woken = wake(condition, count)
  note_signal(h, id, seq, woken, chain('l:' .. condition).count)
end
local last, woken, left = 0, 0, 0
if h then last, woken, left = sent_by(h, id) end
serve('')
flush()
if not h then return { 'absent', now, 0, 0 } end
if last ~= seq then return { 'signalled', now, 0, 0 } end
return { 'signalled', now, woken, left }
