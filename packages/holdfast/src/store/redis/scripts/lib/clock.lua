-- The server's clock, in microseconds. A double holds this time exactly until 2255.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
