-- The server's clock in microseconds; a double is exact until 2255.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
