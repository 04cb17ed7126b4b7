-- The short path for a free mutex; see engine/engine.ts. A number is cheaper for the client to
-- parse than a list.
local is_short = wanted_kind == 1 and owner == '' and (is_plain or not seen)
local _, expires, forget, queued, holder, last, ticket_before, fair_before =
  nil, 0, nil, 0, '', 0, 0, 0
local h_hand_offs, h_ttl, since
if is_short then
  if seen then
    _, expires, forget, queued, holder, last, ticket_before, fair_before, h_hand_offs, h_ttl,
      since = cmsgpack.unpack(seen)
  end
  if holder == '' and queued == 0 then
    local own = math.max(last + 1, now)
    expires = now + ttl * 1000
    if fair == 0 then hand_offs = hand_offs_alone(hand_offs) end
    local kept = kept_until(forget, expires)
    save(forget, kept, false, cmsgpack.pack(
      true, expires, kept, 0, id, own + hand_offs, ticket_before, 0, hand_offs, ttl,
      own == now and 0 or now), 'm', cmsgpack.pack(channel, tasks, meta))
    if own == now then return now end
    return { 'granted', now, own, ttl * 1000, hand_offs, 1 }
  end
end
