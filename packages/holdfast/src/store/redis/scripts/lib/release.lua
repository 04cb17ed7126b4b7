-- What follows short/free.lua: see release.lua. It returns the reply.
--- @include "short/plain.lua"
--- @include "short/pass.lua"
--- @include "short/leave.lua"
--- @include "lib/serve.lua"

local function let_go(h)
  if not leave(h, id) then return 'kept' end
  if unpassed then take_back_fences(h, 0) end
  return 'freed'
end

if not known then return { 'absent', now, 0 } end
drop_expired()
local held = lease_of(id)
local status
if held then
  status = let_go(held)
else
  status = withdraw(id) and 'dequeued' or 'absent'
end
serve('')
flush()
return { status, now, status == 'kept' and hold_count(read_holder(held.id)) or 0 }
