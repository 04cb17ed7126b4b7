--- @include "lib/parking.lua"
-- The two orders: the queue by ticket, and leases by expiry if several are possible.
--
-- The main record counts their entries. A server may lose one of the three keys (eviction, DEL). An
-- order with another number of entries is rebuilt from the record; one that should be empty is not
-- read. So the loss of an order changes nothing, and that of the record is the loss of the
-- resource.

-- Each id with its expiry or ticket, and its weight or fair flag. Unknown formats are ignored.
local function members(all, kind)
  local found = {}
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 2) == kind then
      local ok, place, weight, _, _, _, fair, _, holds = pcall(cmsgpack.unpack, all[at + 1])
      -- of a lease with holds, when one of them may end
      if ok and type(holds) == 'table' then place = holds[5] end
      if ok and type(place) == 'number' and type(weight) == 'number' then
        found[#found + 1] = {
          id = string.sub(all[at], 3), place = place, weight = weight, fair = tonumber(fair) or 0,
        }
      end
    end
  end
  table.sort(found, function(a, b)
    if a.place == b.place then return a.id < b.id end
    return a.place < b.place
  end)
  return found
end

-- Counts leases and waiters again, from the whole record.
local function survey()
  local all = redis.call('HGETALL', resource)
  local waiters, held = members(all, 'w:'), many and members(all, 'h:') or {}
  waiting, fair_waiting = #waiters, 0
  for _, one in ipairs(waiters) do fair_waiting = fair_waiting + one.fair end
  if many then
    leases, used = #held, 0
    for _, one in ipairs(held) do used = used + one.weight end
  end
  return waiters, held
end

local function agree()
  return (waiting == 0 or redis.call('ZCARD', queue) == waiting)
    and (not many or leases == 0 or redis.call('ZCARD', expiries) == leases)
end

local function write_order(key, list)
  redis.call('DEL', key)
  for from = 1, #list, CHUNK do
    local words = {}
    for at = from, math.min(from + CHUNK - 1, #list) do
      words[#words + 1] = list[at].place
      words[#words + 1] = list[at].id
    end
    redis.call('ZADD', key, unpack(words))
  end
end

-- Before any use of the orders.
local function reconcile()
  if not known or agree() then return end
  local waiters, held = survey()
  guard()
  write_order(queue, waiters)
  write_order(expiries, held)
end
