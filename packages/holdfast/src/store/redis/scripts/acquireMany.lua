--[[ acquireMany: does for several mutexes what `acquire` does for one; errors stay apart.
  Unexplained words: see acquire.lua.
  KEYS
    names...   key     the main record of each resource; on a cluster none. The other records have
                       its name with a suffix
  ARGV
    terms      string  as in acquire.lua; the weight and the capacity are 1
    meta       string
    channel    string
    own_terms  string  for each acquisition `waited:token`, with spaces between them, as in
                       acquire.lua; '' if all of them are 0 and ''
    ids...     string  the acquisition of each resource; on a cluster, before these a key of another
                       node, or '', and the main record of each resource
  REPLY
    now, then two values for each acquisition that was not granted with now as fence: its place, and
    its reply, or 0: it needs a call of its own;
    or 0: nothing is done, because the node does not refuse the key of another node
    or -1: nothing is done, because the cluster is down
]]
local terms = ARGV[1]
local meta = ARGV[2]
local channel = ARGV[3]
local own_terms = ARGV[4]
local ids = { unpack(ARGV, 5) }
local owner, ticket = '', 0
--- @include "lib/terms.lua"
--- @include "lib/clock.lua"
--- @include "lib/names.lua"
--- @include "lib/kept.lua"

local all_waited, all_tokens
local function own_terms_at(index)
  if not all_waited then
    all_waited, all_tokens = {}, {}
    for waited, token in string.gmatch(own_terms, '(%d+):(%S*)') do
      all_waited[#all_waited + 1], all_tokens[#all_tokens + 1] = tonumber(waited), token
    end
  end
  return all_waited[index] or 0, all_tokens[index] or ''
end

-- The general path is made only for a mutex that is not free.
local function acquire(index, resource, id, hand_offs)
  local queue, expiries, waited, token, stored, process, count
  local seen = redis.call('HGET', resource, 's')
  --- @include "lib/save.lua"
  --- @include "short/take.lua"
  queue, expiries = resource .. ':q', resource .. ':x'
  waited, token = own_terms_at(index)
  --- @include "lib/acquire.lua"
end

local reply = { now }
for place = 1, #names do
  local done, answer = pcall(acquire, place, names[place], ids[place], hand_offs)
  if answer ~= now then
    reply[#reply + 1] = place
    reply[#reply + 1] = done and answer or 0
  end
end
return reply
