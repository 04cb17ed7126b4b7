--[[ acquireMany: takes several free mutexes, each as `acquire` does; errors stay apart.
  KEYS
    names...   key     the main record of each resource; on a cluster none
  ARGV
    terms      string  as in acquire.lua; the weight and the capacity are 1
    meta       string  free text
    channel    string  the channel of the process, or ''
    ids...     string  the acquisition of each resource; on a cluster, before these a key of another
                       node, or '', and the main record of each resource
  REPLY
    now, then two numbers for each acquisition that was not granted with now as fence: its place,
    and its fence | 0: not done, it needs a call of its own;
    or 0: nothing is done, because the node does not refuse the key of another node
    or -1: nothing is done, because the cluster is down
]]
local terms = ARGV[1]
local meta = ARGV[2]
local channel = ARGV[3]
local ids = { unpack(ARGV, 4) }
local owner = ''
--- @include "lib/terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/names.lua"
--- @include "lib/kept.lua"

local function take(resource, id, hand_offs)
  local seen = redis.call('HGET', resource, 's')
  --- @include "lib/save.lua"
  --- @include "lib/take.lua"
end

local reply = { now }
for place = 1, #names do
  local done, taken = pcall(take, names[place], ids[place], hand_offs)
  if taken ~= now then
    reply[#reply + 1] = place
    reply[#reply + 1] = done and taken and taken[3] or 0
  end
end
return reply
