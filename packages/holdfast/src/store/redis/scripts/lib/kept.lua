-- Until when (ms) the server keeps the record if the last lease ends at `at`: `touch` of
-- engine/resource.ts. `parked`: a waiter is.
local function kept_until(stored, at, parked)
  local least = math.floor(at / 1000) + retention
  if stored and stored >= least and (parked or stored <= least + retention) then return stored end
  return stored and least + math.floor(retention / 2) or least
end
