-- A mutex' only holder releases it to the first waiter.
-- Earns 73 % of the time of `release`.
if is_own then
  local first, ticket = first_waiter()
  if first then
    if grant_next(first, last, ticket_before, queued, fair_before, forget) then return now end
    redis.call('ZADD', queue, ticket, first)
  end
end
