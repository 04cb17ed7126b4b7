-- On a cluster a call names no key: `ids` has a control (see node-calls.ts), the names, in slots of
-- the executing node, and the acquisitions.
local names = { unpack(KEYS, 1) }
if #names == 0 then
  local count = (#ids - 1) / 2
  local control = ids[1]
  if control ~= '' then
    local read = redis.pcall('HGET', control, 's')
    local refusal = type(read) == 'table' and read.err or ''
    if not string.find(refusal, 'non local key', 1, true) then
      return string.find(refusal, 'cluster is down', 1, true) and -1 or 0
    end
  end
  names, ids = { unpack(ids, 2, count + 1) }, { unpack(ids, count + 2) }
end
