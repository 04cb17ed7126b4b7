/**
 * The script of an acceptor; `acceptor.ts` says why. The replication id names the boot: a server
 * takes a new one when it starts as a master or becomes one, and when its first replica connects.
 *
 * Ballots are decimal texts of equal length, and compare as texts: 16 digits of the time, then the
 * proposer.
 *
 *     KEYS   1 the record: hash p (promised ballot), o (the process that will use it: secret and
 *              channel, '' or '-'), b (ballot of the value), v (value), n (number and length of
 *              the texts left for the owner), l1, l2 ... (these texts: commands, one a line)
 *            2 the marker: hash r (boot), i (run id), s (time at which it was set or decided), v
 *              (time from which the server votes; absent: not decided), p (present: partial), k
 *              (time until which it keeps records that are not long), f (mark of fences), u:KEY
 *              (time until which it does not vote for a key)
 *            3 the long records: sorted set of keys, by the time until which they are kept
 *     ARGV   'check', durable 0 or 1, long records wanted 0 or 1, then of a decision: boot, time
 *              from which the server votes, mark of fences, partial 0 or 1, then keys and times in
 *              turn
 *            'prepare', ballot, time of the quorum, age in µs below which a promise to another
 *              process stays, process that asks, key without prefix, commands to keep for the
 *              owner of a promise that stays
 *            'accept', ballot, time of the quorum, next ballot, ms to keep, value, fence, channel
 *              of the process that gets the next ballot or '', text for it, process that will use
 *              the next ballot, key without prefix, then channels and texts in turn
 *            'look', '', time of the quorum
 *            'collect', channel
 *            In the first word of a vote ('prepare', 'accept', 'look') the boot follows.
 *
 * Clients send the time of the quorum, because the clock of a server may be wrong; only `s` is of
 * the server's clock.
 */
import {
  LEFT_MAX,
  LONG_MAX,
  LONG_MS,
  OLD_UNTIL,
  PROMISE_MS,
  TEXTS_MAX,
  UNUSED,
} from './acceptor.js';

export const TEXT: string = `
local op, boot = string.match(ARGV[1], '^(%a+) ?(.*)$')
-- a text that is left costs the same, however many there are
local function take(n)
  if not n then return '' end
  local names = { 'n' }
  for i = 1, tonumber(string.match(n, '^%d+')) do names[i + 1] = 'l' .. i end
  local texts = redis.call('HMGET', KEYS[1], unpack(names))
  redis.call('HDEL', KEYS[1], unpack(names))
  return table.concat(texts, '\\n', 2)
end
if op == 'collect' then
  local o, n = unpack(redis.call('HMGET', KEYS[1], 'o', 'n'))
  if string.match(o or '', ' (.*)$') ~= ARGV[2] then return '' end
  return take(n)
end
local t = redis.call('TIME')
local function whole(number) return string.format('%.0f', number) end
if op == 'check' then
  local info = redis.call('INFO', 'server', 'replication', 'cluster', 'memory', 'stats')
  local function field(name)
    return string.match(info, '[\\r\\n]' .. name .. ':([^\\r\\n]*)') or ''
  end
  local role = field('role')
  boot = field('master_replid')
  local policy = field('maxmemory') ~= '0' and field('maxmemory_policy') or 'noeviction'
  local long, marker = {}, {}
  local at = whole(t[1] * 1000000 + t[2])
  if role == 'master' then
    local r, i = unpack(redis.call('HMGET', KEYS[2], 'r', 'i'))
    local run = field('run_id')
    local copied = field('total_net_repl_input_bytes') ~= '0'
      or string.find(field('master_replid2'), '[^0]')
    if r ~= boot and i == run and not copied then
      redis.call('HSET', KEYS[2], 'r', boot)
    elseif r ~= boot then
      if ARGV[2] ~= '1' then redis.call('DEL', KEYS[2], KEYS[3]) end
      redis.call('HSET', KEYS[2], 'r', boot, 'i', run, 's', at)
    end
    local v, p, f = unpack(redis.call('HMGET', KEYS[2], 'v', 'p', 'f'))
    if ARGV[2] == '1' and not v then
      redis.call('HSET', KEYS[2], 'v', '0')
    elseif ARGV[4] == boot and (not v or p and ARGV[7] == '0') then
      if not v then redis.call('HSET', KEYS[2], 's', at, 'v', ARGV[5]) end
      redis.call('HSET', KEYS[2], 'p', 1, 'f', whole(math.max(tonumber(f or 0), ARGV[6])))
      if ARGV[7] == '0' then redis.call('HDEL', KEYS[2], 'p') end
      for i = 8, #ARGV, 2 do redis.call('HSET', KEYS[2], 'u:' .. ARGV[i], ARGV[i + 1]) end
    end
    marker = redis.call('HMGET', KEYS[2], 'v', 's', 'k', 'f', 'p')
    if ARGV[3] == '1' then
      -- one too many says that there are more
      long = redis.call('ZRANGE', KEYS[3], ${-LONG_MAX - 1}, -1, 'WITHSCORES')
      local all = redis.call('HGETALL', KEYS[2])
      for i = 1, #all, 2 do
        if string.sub(all[i], 1, 2) == 'u:' then
          long[#long + 1] = string.sub(all[i], 3)
          long[#long + 1] = all[i + 1]
        end
      end
    end
  end
  return { t[1], t[2], field('run_id'), field('redis_version'), role, boot,
    field('cluster_enabled'), policy, marker[1] or '', marker[2] or '', marker[3] or '',
    field('uptime_in_seconds'), marker[4] or '', long, marker[5] or '' }
end
local key, ballot, now = KEYS[1], ARGV[2], tonumber(ARGV[3])
local marker = redis.call('HMGET', KEYS[2], 'r', 'v', 'k', 'f', 'u:' .. key, 'p')
local from, mark = marker[2], marker[4] or '0'
local info = redis.call('INFO', 'replication')
if not from or boot ~= marker[1] or not string.find(info, 'master_replid:' .. marker[1], 1, true)
  then return { 'unmarked' } end
if marker[5] and tonumber(marker[5]) > tonumber(from) then from = marker[5] end
if now < tonumber(from) then return { 'guarded', t[1], t[2], from } end
local r = redis.call('HMGET', key, 'p', 'b', 'o', 'n')
local left = r[4]
local function tell(owner, name, mark)
  local secret, channel = string.match(owner, '^(%S*) (.*)$')
  if not secret then return end
  local proof = redis.sha1hex(secret .. ' ' .. name)
  redis.pcall('PUBLISH', channel, '>' .. mark .. proof .. ' ' .. name)
end
-- listeners at replicas are not counted, and hear it later
local counts = string.find(info, 'repl_backlog_active:0', 1, true)
local deaf = {}
local function publish(channel, text)
  if redis.pcall('PUBLISH', channel, text) == 0 and counts then deaf[#deaf + 1] = channel end
end
local function no(more)
  local count, size = string.match(left or '0 0', '^(%d+) (%d+)$')
  count, size = count + 1, size + #more
  if more == '' or size > ${LEFT_MAX} or count > ${TEXTS_MAX} then
    return { 'no', t[1], t[2], r[1], '' }
  end
  redis.call('HSET', key, 'n', count .. ' ' .. size, 'l' .. count, more)
  if not left then tell(r[3] or '', ARGV[6], '') end
  return { 'no', t[1], t[2], r[1], 'kept' }
end
if op == 'look' then
  return { 'yes', t[1], t[2], r[2] or '', r[2] and redis.call('HGET', key, 'v') or '', mark, '' }
end
if op == 'prepare' then
  local yields = tonumber(ARGV[4])
  local user, asker = string.match(r[3] or '', ' (.*)$'), string.match(ARGV[5], ' (.*)$')
  if not user then
    user, asker = string.sub(r[1] or '', 17), string.sub(ballot, 17)
    yields = yields / 10
  end
  if yields > 0 and r[1] and user ~= asker and r[3] ~= '${UNUSED}' then
    if math.abs(now - tonumber(string.sub(r[1], 1, 16))) < yields then return no(ARGV[7]) end
  end
  if r[1] and r[1] > ballot then return no('') end
  redis.call('HSET', key, 'p', ballot, 'o', ARGV[5])
  local taken = take(left)
  if redis.call('PTTL', key) < ${PROMISE_MS} then redis.call('PEXPIRE', key, ${PROMISE_MS}) end
  local value = r[2] and redis.call('HGET', key, 'v') or ''
  return { 'yes', t[1], t[2], r[2] or '', value, mark, taken }
end
if r[2] == ballot then return { 'yes', t[1], t[2], '', '', mark, '' } end
if r[1] and r[1] > ballot then return no('') end
local keep = tonumber(ARGV[5])
local keeps = now + keep * 1000
if marker[6] and keep > ${LONG_MS} then return { 'unmarked' } end
if keep > ${LONG_MS} then
  local over = redis.call('ZRANGE', KEYS[3], '-inf', ARGV[3], 'BYSCORE', 'LIMIT', 0, 100)
  if #over > 0 then redis.call('ZREM', KEYS[3], unpack(over)) end
  redis.call('ZADD', KEYS[3], whole(keeps), key)
  if redis.call('PTTL', KEYS[3]) < keep then redis.call('PEXPIRE', KEYS[3], ARGV[5]) end
elseif keeps > tonumber(marker[3] or 0) then
  -- some seconds more, so that the marker is rarely written
  redis.call('HSET', KEYS[2], 'k', whole(keeps + 5000000))
end
if tonumber(ARGV[7]) > tonumber(mark) then
  mark = whole(math.ceil(ARGV[7] / 1000000) * 1000000)
  redis.call('HSET', KEYS[2], 'f', mark)
end
redis.call('HSET', key, 'p', ARGV[4], 'b', ballot, 'v', ARGV[6], 'o', ARGV[10])
redis.call('PEXPIRE', key, ARGV[5])
if ARGV[8] ~= '' then publish(ARGV[8], ballot .. ' ' .. ARGV[9] .. ARGV[6]) end
for i = 12, #ARGV, 2 do publish(ARGV[i], ballot .. ' ' .. ARGV[i + 1]) end
if ARGV[8] == '' then return { 'yes', t[1], t[2], '', '', mark, take(left), deaf } end
if left then
  local till = tonumber(string.match(redis.call('HGET', key, 'l1'), '^%["[^"]*",(%d+)') or 0)
  tell(ARGV[10], ARGV[11], till < now + ${OLD_UNTIL} and '!' or '')
end
return { 'yes', t[1], t[2], '', '', mark, '', deaf }
`;
