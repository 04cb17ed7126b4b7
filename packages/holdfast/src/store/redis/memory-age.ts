/**
 * For how long a master has had its memory without a gap, for the option `replicas` ([decision
 * 29](../../../../../docs/decisions/0029-age-of-a-memory.md)). A marker in the server names the
 * replication id under which it was written:
 *
 *     the present id                             its age goes on
 *     the second id, and it was a replica        promoted: its age goes on, from the recorded one,
 *                                                but it is not older than its start
 *     the second id, or no second id             its age begins with its start
 *     any other, or no marker                    its age begins now: it may have copied a master
 *                                                that had lost its memory
 *
 * Invariants: one server measures the recorded age, so clocks of two servers are never compared.
 * The replicas have the marker when they have a grant: it is written before, on the same
 * connection. A server may tell its uptime one second too long.
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
  /** The id changes with the role of the server. */
  readonly id: string;
  /** The age in the marker, in ms. */
  readonly recorded: number;
  /** Local time since when the memory has no gap. */
  readonly from: number;
}

export function markerOf(prefix: string, tag?: number): string {
  return tag === undefined ? `${prefix}memory` : `${prefix}{${tag}}:memory`;
}

/** Asks a master, and writes the marker. Rejects for a replica. */
export async function memoryAt(line: Line, marker: string): Promise<Memory> {
  const [answer] = line.send([['EVAL', SOURCE, '1', marker]]);
  const [id, age] = (await answer) as [string, number];
  if (id === '') throw new Error('READONLY the server is a replica');
  return { id, recorded: Number(age), from: systemClock.now() - Number(age) };
}

export function isSameLife(info: unknown, { id }: Memory): boolean {
  const text = String(info);
  return text.includes('role:master\r') && text.includes(`master_replid:${id}\r`);
}
