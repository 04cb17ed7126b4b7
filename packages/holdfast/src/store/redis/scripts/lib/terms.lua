-- The terms of an acquisition: see acquire.lua.
local wanted_kind, fair, wait = string.byte(terms, 1, 3)
wanted_kind, fair, wait = wanted_kind - 48, fair - 48, wait == 49
local ttl, retention, hand_offs, tasks, rest = string.match(terms, '(%S+) (%S+) (%S+) (%S+)()', 5)
ttl, retention, hand_offs, tasks =
  tonumber(ttl), tonumber(retention), tonumber(hand_offs), tonumber(tasks)
