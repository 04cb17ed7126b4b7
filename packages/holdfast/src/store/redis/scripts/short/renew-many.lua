-- A record's only lease; any other case needs all keys.
-- Earns 88 % of the time of a lease in `renewMany`.
local function renew_plain(resource, id)
  local seen = call('HGET', resource, 's')
  if not seen then return ABSENT end
  if string.byte(seen) ~= 195 then return NEEDS_ALL_KEYS end
  local rest, expires, forget = UNPACK_HEAD.plain(seen, 'expires kept')
  local queued, holder = UNPACK_REST.plain(seen, rest, 'queued holder')
  local lasts = expires > till
  local kept = kept_until(forget, lasts and expires or till)
  local moves = kept ~= forget
  if holder ~= id or expires <= now or moves and (lasts or queued > 0) then
    return NEEDS_ALL_KEYS
  end
  if lasts then return expires - now end
  if moves then call('PEXPIREAT', resource, kept) end
  local head = PACK_HEAD.plain({ expires = till, kept = kept })
  call('HSET', resource, 's', head .. sub(seen, rest + 1))
  return full
end
