-- The only clock that decides anything: the server's, in microseconds. A double holds it exactly
-- until 2255.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
