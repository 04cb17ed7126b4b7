-- The terms of an acquisition: see acquire.lua.
local is_sole, fair, wait = string.byte(terms, 1, 3)
fair, wait = fair - 48, wait == 49
local ttl, retention, hand_offs, tasks, rest = string.match(terms, '(%S+) (%S+) (%S+) (%S+)()', 5)
ttl, retention, hand_offs, tasks =
  tonumber(ttl), tonumber(retention), tonumber(hand_offs), tonumber(tasks)
