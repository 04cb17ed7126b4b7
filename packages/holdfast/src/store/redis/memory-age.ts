/**
 * For how long a master has had its memory without a gap, for the option `replicas` (decision 29).
 *
 * An acknowledgement proves nothing about a later life of the master: after a crash and a start
 * before a fail-over, it has older data or none, and its replicas copy that. So a grant counts only
 * at a master whose memory is older than the lease that may have been forgotten.
 *
 * A server draws a new replication id at each start as a master, and when a replica becomes master;
 * a promoted replica keeps the id of its former master as its second one. So a marker in the server
 * names the replication id under which it was written, and all processes compare it:
 *
 *     the present id                             its age goes on
 *     the second id, and it was a replica        promoted: its age goes on, from the recorded one,
 *                                                but it is not older than its start
 *     the second id, or no second id             its age begins with its start
 *     any other, or no marker                    its age begins now: it may have copied a master
 *                                                that had lost its memory
 *
 * A server that starts as a master may take the second id from its snapshot, but was no replica in
 * this life, so it has received nothing. One that starts as a replica, with the same snapshot, may
 * be promoted before it has copied anything. A server tells its uptime as the difference of two
 * clocks in whole seconds, so it may have started one second later. The recorded age is measured by
 * one server, so the clocks of two servers are never compared. The marker is written on the
 * connection whose writes the replicas acknowledge, before the first grant: they have it when they
 * have a grant.
 */
import { systemClock } from '../../base/clock.js';
import type { Line } from '../clients/line.js';

const SOURCE = `
local info = redis.call('INFO', 'server', 'replication', 'stats')
local function field(name)
  return string.match(info, '[\\r\\n]' .. name .. ':([^\\r\\n]*)') or ''
end
local id, second = field('master_replid'), field('master_replid2')
if field('role') ~= 'master' then return { '', 0 } end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local start = (t[1] - tonumber(field('uptime_in_seconds')) + 1) * 1000
local received = tonumber(field('total_net_repl_input_bytes')) or 0
local marker = redis.call('HMGET', KEYS[1], 'id', 'from', 'age')
local known = tonumber(marker[3]) or 0
local from = now
if marker[1] == id then
  from = tonumber(marker[2])
elseif marker[1] == second and received > 0 then
  from = math.max(now - known, start)
elseif marker[1] == second or received == 0 and string.match(second, '^0*$') then
  from = start
end
local age = math.max(0, now - from)
redis.call('HSET', KEYS[1], 'id', id, 'from', string.format('%.0f', from),
  'age', string.format('%.0f', age))
return { id, age }
`;

export interface Memory {
  /** The replication id of the master. It changes with the role of the server. */
  readonly id: string;
  /** The age in the marker, in ms. */
  readonly recorded: number;
  /** The memory has no gap since this local time. */
  readonly from: number;
}

/** A tag puts the marker into a slot of a cluster. */
export function markerOf(prefix: string, tag?: number): string {
  return tag === undefined ? `${prefix}memory` : `${prefix}{${tag}}:memory`;
}

/** Asks a master, and writes the marker. Rejects if it is a replica. */
export async function memoryAt(line: Line, marker: string): Promise<Memory> {
  const [answer] = line.send([['EVAL', SOURCE, '1', marker]]);
  const [id, age] = (await answer) as [string, number];
  if (id === '') throw new Error('READONLY the server is a replica');
  return { id, recorded: Number(age), from: systemClock.now() - Number(age) };
}

/** The answer to `INFO replication` is that of the same master in the same life. */
export function isSameLife(info: unknown, { id }: Memory): boolean {
  const text = String(info);
  return text.includes('role:master\r') && text.includes(`master_replid:${id}\r`);
}
