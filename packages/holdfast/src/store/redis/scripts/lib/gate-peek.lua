-- Reads the summary of a gate, and the token of the caller's channel.
local seen, known = unpack(redis.call('HMGET', gate, 's', 'c:' .. channel))
