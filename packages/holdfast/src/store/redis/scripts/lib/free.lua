-- The short path: the only holder of a mutex releases it, and no acquisition waits.
local is_own = false
local expires, forget, queued, holder, last, ticket_before, fair_before, hand_offs, h_ttl, since
if is_plain then
  local _
  _, expires, forget, queued, holder, last, ticket_before, fair_before, hand_offs, h_ttl, since =
    cmsgpack.unpack(seen)
  is_own = holder == id and expires > now
  if is_own and unpassed then last = last - hand_offs end
  if is_own and queued == 0 then
    local kept = kept_until(forget, now)
    save(forget, kept, false, cmsgpack.pack(true, 0, kept, 0, '', last, ticket_before, 0))
    return now
  end
end
