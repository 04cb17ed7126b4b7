--[[ release: ends a lease, a hold or a wait; serves the queue. Idempotent by id.
  Unexplained words: see acquire.lua.
  KEYS
    resource   hash
    queue      zset
    expiries   zset
  ARGV
    id         string
    terms      string  `unpassed retention`: a digit and a number
      unpassed         1: the lease is never handed off: its reserved fences become free
      retention        kept after its last use, in ms
  REPLY
    now (a number instead of a list: freed in the common case)
    | freed now 0 | kept now holds | dequeued now 0 | absent now 0
]]
local resource, queue, expiries = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]
local terms = ARGV[2]
--- @include "lib/release-terms.lua"
--- @include "lib/peek-to-write.lua"
--- @include "short/free.lua"
--- @include "lib/release.lua"
