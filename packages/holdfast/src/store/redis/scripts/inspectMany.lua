--[[ inspectMany: shows several mutexes, each as `inspect` does; errors stay apart.
  KEYS
    names...   key     as in acquireMany.lua
  ARGV
    ids...     string  on a cluster a key of another node, or '', then the main record of each
                       resource, then as many words without a meaning
  REPLY
    now, then for each resource: a list, or 0: it needs a call of its own, or 1: there is no record.
    A list of a plain record: the last fence; or of one with a lease: holder, its fence, hand_offs,
    microseconds left, tasks, since, meta;
    or 0 or -1, as in acquireMany.lua
]]
local ids = { unpack(ARGV, 1) }
--- @include "lib/clock.lua"
--- @include "lib/names.lua"

local call = redis.call

local function show(resource)
  local seen = call('HGET', resource, 's')
  if not seen then return 1 end
  if string.byte(seen) ~= 195 then return 0 end
  local expires, queued, holder, last, passes, since =
    UNPACK.plain(seen, 'expires queued holder last hand_offs since')
  if queued > 0 then return 0 end
  if holder == '' or expires <= now then return { last } end
  local tasks, meta = UNPACK.about(call('HGET', resource, 'm'), 'tasks meta')
  local own = last - passes
  return { holder, own, passes, expires - now, tasks, since == 0 and own or since, meta }
end

local reply = { now }
for place = 1, #names do
  local done, shown = pcall(show, names[place])
  reply[place + 1] = done and shown or 0
end
return reply
