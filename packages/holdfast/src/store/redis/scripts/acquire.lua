--[[ acquire: takes permits, or joins the queue, or is refused. Idempotent by id.
  KEYS
    resource   hash    main record
    queue      zset    waiters by ticket
    expiries   zset    leases by expiry
  ARGV
    id         string  the acquisition
    terms      string  `FLAGS ttl retention hand_offs tasks claim max_queue patience weight
                       wanted_capacity`: one word is faster than ten. FLAGS are three digits:
                       `wanted_kind` `fair` `wait`
      wanted_kind      1 mutex (of weight and capacity 1), 2 semaphore, 3 read-write lock, 4 flight
      fair             1: while this one waits, only fair ones get hand-offs
      wait             1: join the queue if the permits are not free
      ttl              length of the lease, in ms
      retention        kept after its last use, in ms
      hand_offs        hand-offs allowed in the process
      tasks            tasks that wait for this root; 0: it is no root
      claim            claim window: of a pushed lease, if shorter than ttl, in ms
      max_queue        longest queue that a newcomer joins
      patience         silence after which this process counts as dead, in ms
      weight           permits requested
      wanted_capacity  the capacity as the caller knows it
    meta       string  free text
      The last words may be left out while they are '' or 0.
    channel    string  for the push of the grant, or ''
    token      string  the push of the grant repeats it, or ''
    ticket     us      the place in the queue to get back, or 0
    waited     ms      for which a root's oldest task has waited in its process, or 0
    owner      string  the owner for re-entry, or ''
  REPLY
    now (a number: granted for ttl with now as fence, the common case)
    | granted now fence left hand_offs holds | queued now ticket next [ahead] | refused now next
    | full now length | mismatch now capacity kind | conflict now weight | crowded now holds
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local terms = ARGV[2]
local meta = ARGV[3]
local channel = ARGV[4] or ''
local token = ARGV[5] or ''
local ticket = tonumber(ARGV[6] or 0)
local waited = tonumber(ARGV[7] or 0)
local owner = ARGV[8] or ''
--- @include "lib/terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/waiters.lua"
-- A lock that is probably held: the waiter's field is read at once, which costs more on a free one.
local seen, stored, process, count
if channel == '' or fair == 0 then
  seen = redis.call('HGET', resource, 's')
else
  process = 'n:' .. process_of(id)
  seen, stored, count = unpack(redis.call('HMGET', resource, 's', 'w:' .. id, process))
end
--- @include "lib/save.lua"

--- @include "short/take.lua"
--- @include "lib/acquire.lua"
