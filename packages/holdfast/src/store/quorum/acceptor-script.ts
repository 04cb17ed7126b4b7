/**
 * The script of an acceptor. It has one text for all three requests: a server that does not know
 * the script has booted since it was loaded last, and the only request that is ever sent with the
 * text is `check`. So no vote is given after a boot before the marker was compared with the boot.
 *
 * Ballots are decimal texts of equal length, so they compare as texts.
 *
 *     KEYS   1 the record: hash p (promised ballot), b (ballot of the value), v (value)
 *            2 the marker: hash r (run id), v (time of the quorum from which it votes), s (time at
 *              which it was set), k (time until which it keeps records)
 *     ARGV   'check', durable 0 or 1, time of the quorum from which it votes or '', the run id for
 *              which that was decided
 *            'prepare', ballot, time of the quorum
 *            'accept', ballot, time of the quorum, next ballot, ms to keep, value, channel of the
 *              process that gets the next ballot or '', text for it, then channels and texts in
 *              turn
 *            'tell', channel, text
 *
 * The time of the quorum comes from the client: a server that was restarted may have a wrong clock
 * that is set soon, so it must not measure by itself for how long it does not vote.
 */
import { PROMISE_MS } from './acceptor.js';

export const SOURCE: string = `
local op = ARGV[1]
if op == 'tell' then return redis.call('PUBLISH', ARGV[2], ARGV[3]) end
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
if op == 'check' then
  local info = redis.call('INFO', 'server', 'replication', 'cluster', 'memory')
  local function field(name)
    return string.match(info, '[\\r\\n]' .. name .. ':([^\\r\\n]*)') or ''
  end
  local run, role = field('run_id'), field('role')
  local policy = field('maxmemory') ~= '0' and field('maxmemory_policy') or 'noeviction'
  local marker = {}
  if role == 'master' then
    marker = redis.call('HMGET', KEYS[2], 'r', 'v', 's', 'k')
    if marker[1] ~= run then
      local from = ARGV[2] == '1' and '0' or ARGV[4] == run and ARGV[3] or ''
      marker = {}
      if from ~= '' then
        marker = { run, from, string.format('%.0f', now) }
        redis.call('DEL', KEYS[2])
        redis.call('HSET', KEYS[2], 'r', marker[1], 'v', marker[2], 's', marker[3])
      end
    end
  end
  return { t[1], t[2], run, field('redis_version'), role, field('master_replid'),
    field('cluster_enabled'), policy, marker[2] or '', marker[3] or '', marker[4] or '',
    field('uptime_in_seconds') }
end
local marker = redis.call('HMGET', KEYS[2], 'v', 'k')
local from = marker[1]
if not from then return { 'unmarked' } end
if tonumber(ARGV[3]) < tonumber(from) then return { 'guarded', t[1], t[2], from } end
local key, ballot = KEYS[1], ARGV[2]
local r = redis.call('HMGET', key, 'p', 'b')
if op == 'prepare' then
  if r[1] and r[1] > ballot then return { 'no', t[1], t[2], r[1] } end
  redis.call('HSET', key, 'p', ballot)
  if redis.call('PTTL', key) < ${PROMISE_MS} then redis.call('PEXPIRE', key, ${PROMISE_MS}) end
  return { 'yes', t[1], t[2], r[2] or '', r[2] and redis.call('HGET', key, 'v') or '' }
end
if r[2] == ballot then return { 'yes', t[1], t[2], '', '' } end
if r[1] and r[1] > ballot then return { 'no', t[1], t[2], r[1] } end
redis.call('HSET', key, 'p', ARGV[4], 'b', ballot, 'v', ARGV[6])
redis.call('PEXPIRE', key, ARGV[5])
local keeps = now + ARGV[5] * 1000
-- some seconds more, so that the marker is rarely written
if keeps > tonumber(marker[2] or 0) then
  redis.call('HSET', KEYS[2], 'k', string.format('%.0f', keeps + 5000000))
end
if ARGV[7] ~= '' then redis.pcall('PUBLISH', ARGV[7], ballot .. ' ' .. ARGV[8] .. ARGV[6]) end
for i = 9, #ARGV, 2 do redis.pcall('PUBLISH', ARGV[i], ballot .. ' ' .. ARGV[i + 1]) end
return { 'yes', t[1], t[2], '', '' }
`;
