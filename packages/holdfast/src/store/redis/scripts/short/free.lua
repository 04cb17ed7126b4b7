-- A mutex' only holder releases it without waiters.
-- Earns 81 % of the time of `release`.
local is_own = false
local expires, forget, queued, holder, last, ticket_before, fair_before, hand_offs, h_ttl, since
if is_plain then
  local _
  expires, forget, queued, holder, last, ticket_before, fair_before, hand_offs, h_ttl, since =
    UNPACK.plain(
      seen, 'expires kept queued holder last last_ticket fair hand_offs ttl since')
  is_own = holder == id and expires > now
  if is_own and unpassed then last = last - hand_offs end
  if is_own and queued == 0 then
    local kept = kept_until(forget, now)
    save(forget, kept, false, PACK.plain({
      expires = 0, kept = kept, queued = 0, holder = '', last = last, last_ticket = ticket_before,
      fair = 0,
    }))
    return now
  end
end
