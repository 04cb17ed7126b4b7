local gate, arrivals, past, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name = ARGV[1]
local kind = ARGV[2]
local count = tonumber(ARGV[3])
local generation = tonumber(ARGV[4])
local ttl = tonumber(ARGV[5])
local retention = tonumber(ARGV[6])
