local seen, known = unpack(redis.call('HMGET', gate, 's', 'c:' .. channel))
