-- The only lease.
-- Earns 76 % of the time of `renew`.
if is_plain and not channel then
  local rest, expires, forget = UNPACK_HEAD.plain(seen, 'expires kept')
  local queued, holder = UNPACK_REST.plain(seen, rest, 'queued holder')
  if holder == id and expires > now then
    local till = math.max(expires, now + ttl * 1000)
    local kept = kept_until(forget, till)
    local head = PACK_HEAD.plain({ expires = till, kept = kept })
    save(forget, kept, queued > 0, head .. string.sub(seen, rest + 1))
    return { 'renewed', now, till - now }
  end
end
