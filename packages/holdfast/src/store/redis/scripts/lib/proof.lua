-- Stands around each script: the reply repeats the last argument, a proof (see proven-port.ts). A
-- number becomes a text with the proof, which clients parse faster than a list.
local proof = table.remove(ARGV)
local function answer()
--- @script
end
-- Older servers than 7.0 refuse scripts with flags, so leases would be lost.
if not redis.REDIS_VERSION then
  local info = redis.pcall('INFO', 'server')
  local version = type(info) == 'string' and string.match(info, 'redis_version:(%S+)')
  return redis.error_reply('OLDSERVER the version of this server is ' .. (version or 'before 7.0')
    .. ', and Holdfast needs Redis 7.0 or newer, or Valkey')
end
local reply = answer()
if type(reply) == 'number' then return string.format('%s %.0f', proof, reply) end
return { proof, reply }
