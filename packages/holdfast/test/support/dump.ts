/**
 * The complete stored state of a resource in one format for both sides: as the Redis store keeps it
 * in its three keys, and as those keys would look for the engine's resource. A sole lease that the
 * summary contains is shown as one of many, because its storage format is internal to the store.
 */
import type { Parked } from '../../src/engine/parking.js';
import type { Hold, Holder, Waiter } from '../../src/engine/entries.js';
import { NUMBERS } from '../../src/engine/kinds.js';
import type { Resource } from '../../src/engine/resource.js';

/** The values of a field as text, because Lua numbers have no other exact form. */
export interface Dump {
  readonly record: Readonly<Record<string, readonly string[]>>;
  /** Ids and scores alternate, in order. */
  readonly queue: string;
  readonly expiries: string;
  /** The expiry of each of the three keys, -2 for a missing key. */
  readonly ends: readonly number[];
}

/** Returns a `Dump` as JSON. `lib/record.lua` describes the fields of the record. */
export const DUMP = `
local all = redis.call('HGETALL', KEYS[1])
if #all == 0 then return 'null' end
-- a plain record in the form of any other
local function general(plain, about)
  local _, expires, forget, waiting, id, fence, last_ticket, fair, hand_offs, ttl, since =
    cmsgpack.unpack(plain)
  if id == '' then
    return cmsgpack.pack(1, 1, fence, last_ticket, 0, 0, fair, 0, waiting, forget)
  end
  local own = fence - hand_offs
  if since == 0 then since = own end
  return cmsgpack.pack(1, 1, fence, last_ticket, 1, expires, fair, 1, waiting, forget, id, expires,
    1, own, hand_offs, ttl, since, '', '', cmsgpack.unpack(about))
end
local function text(one)
  if type(one) == 'number' then return string.format('%.0f', one) end
  if type(one) ~= 'table' then return one end
  local parts = {}
  for at, part in ipairs(one) do parts[at] = text(part) end
  return table.concat(parts, ' ')
end
local record = {}
for index = 1, #all, 2 do
  local field, value = all[index], { all[index + 1] }
  if field == 's' and string.byte(value[1]) == 195 then
    value[1] = general(value[1], redis.call('HGET', KEYS[1], 'm'))
  end
  local packed = field == 's' or field == 'l' or string.find(field, '^[hrwcln]:')
  if packed then value = { cmsgpack.unpack(value[1]) } end
  for at, one in ipairs(value) do
    value[at] = text(one)
  end
  -- a record that is not plain, or is free, may have an old field m
  if field ~= 'm' then record[field] = value end
end
local kept = table.remove(record.s, 10)
local sole = table.remove(record.s, 10)
if sole then
  local rest = {}
  while record.s[10] do rest[#rest + 1] = table.remove(record.s, 10) end
  record['h:' .. sole] = rest
end
local function list(key)
  local found = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for at = 2, #found, 2 do found[at] = string.format('%.0f', tonumber(found[at])) end
  return table.concat(found, ' ')
end
local ends = {}
for index = 1, 3 do ends[index] = redis.call('PEXPIRETIME', KEYS[index]) end
if ends[1] ~= tonumber(kept) then ends[1] = 'the record says ' .. kept end
local queue, expiries = list(KEYS[2]), list(KEYS[3])
-- what is left of an order that the record knows nothing of
if record.s[9] == '0' then queue, ends[2] = '', -2 end
if sole or record.s[8] == '0' then expiries, ends[3] = '', -2 end
if sole and expiries == '' then
  local lease = record['h:' .. sole]
  -- of a lease with holds, when the first of them may end
  expiries, ends[3] = sole .. ' ' .. (string.match(lease[8], '%d+$') or lease[1]), ends[1]
end
return cjson.encode({ record = record, queue = queue, expiries = expiries, ends = ends })
`;

export function dumpOf(resource: Resource | undefined): Dump | null {
  if (resource === undefined) return null;
  const { queue, expiries } = resource;
  const record: Record<string, string[]> = { s: summaryOf(resource) };
  for (const holder of resource.holders.values()) {
    record[`h:${holder.id}`] = holderOf(holder);
  }
  for (const waiter of resource.waiters.values()) record[`w:${waiter.id}`] = waiterOf(waiter);
  for (const [owner, id] of resource.owners) record[`p:${owner}`] = [id];
  holdsOf(resource, record);
  for (const [name, { waiters, heard, until, paused }] of resource.processes.all) {
    const pause = paused === 0 ? [] : [paused];
    record[`n:${name}`] = texts(waiters, heard, until, ...pause);
  }
  parkedOf(resource, record);
  const ordered = listOf(expiries);
  const end = Math.floor(resource.forgetAt / 1000);
  const queueEnd = queue.size > 0 ? end : -2;
  return {
    record,
    queue: listOf(queue),
    expiries: ordered,
    ends: [end, queueEnd, ordered === '' ? -2 : end],
  };
}

function summaryOf(resource: Resource): string[] {
  const { kind, capacity, fence, lastTicket, used, latest, fairWaiting } = resource;
  const { holders, waiters } = resource;
  const known = [holders.size, waiters.size];
  return texts(NUMBERS[kind], capacity, fence, lastTicket, used, latest, fairWaiting, ...known);
}

function holderOf(holder: Holder): string[] {
  const { expires, weight, fence, handOffs, ttl, since, owner, channel, tasks, meta } = holder;
  const ids = [...holder.holds.keys()];
  const full = [...holder.holds.values()].filter((hold) => hold.weight === weight).length;
  const holds = owner === '' ? '' : [ids.length, ids[0], ids.at(-1), full, holder.due].join(' ');
  const { signalled, sent } = holder;
  const { changes } = holder;
  const signals = signalled !== '' || sent.seq > 0 || changes > 0;
  return [
    ...texts(expires, weight, fence, handOffs, ttl, since, owner, holds, channel, tasks, meta),
    ...(signals ? texts(signalled, sent.seq, sent.woken, sent.left) : []),
    ...(changes > 0 ? texts(changes) : []),
  ];
}

function waiterOf(waiter: Waiter): string[] {
  const { ticket, weight, ttl, claim, handOffs, fair, owner, channel, token, tasks } = waiter;
  const { meta, signalled } = waiter;
  return [
    ...texts(
      ticket,
      weight,
      ttl,
      claim,
      handOffs,
      Number(fair),
      owner,
      channel,
      token,
      tasks,
      meta,
    ),
    ...(signalled === '' ? [] : [signalled]),
  ];
}

/** The holds of owners, each with its neighbours. */
function holdsOf({ holders, holds }: Resource, record: Record<string, string[]>): void {
  for (const holder of holders.values()) {
    const own = [...holder.holds.keys()];
    own.forEach((id, at) => {
      if (holds.get(id) !== holder.id) return;
      const { weight, changes, channel, expires, sent } = holder.holds.get(id) as Hold;
      const beside = [own[at - 1] ?? '', own[at + 1] ?? ''];
      const signals = sent === undefined ? [] : [sent.seq, sent.woken, sent.left];
      const changed = changes > 0 || sent !== undefined ? [changes, ...signals] : [];
      record[`r:${id}`] = texts(holder.id, ...beside, weight, channel, expires, ...changed);
    });
  }
}

/** The chains of parked acquisitions, each with its neighbours in both chains. */
function parkedOf({ parking }: Resource, record: Record<string, string[]>): void {
  const chain = (ids: readonly string[]): string[] =>
    texts(ids[0] as string, ids.at(-1) as string, ids.length);
  const beside = (ids: readonly string[], id: string): string[] => {
    const at = ids.indexOf(id);
    return [ids[at - 1] ?? '', ids[at + 1] ?? ''];
  };
  const all = parking.all().map(({ id }) => id);
  if (all.length > 0) record['l'] = chain(all);
  for (const condition of parking.conditions) {
    const own = parking.at(condition);
    record[`l:${condition}`] = chain(own);
    for (const id of own) {
      const parked = parking.get(id) as Parked;
      record[`c:${id}`] = [...entryOf(parked), ...beside(own, id), ...beside(all, id)];
    }
  }
}

function entryOf(parked: Parked): string[] {
  const { condition, since, until, weight, ttl, claim, fair, owner, channel } = parked;
  const numbers = [since, until, weight, ttl, claim, Number(fair)];
  return texts(condition, ...numbers, owner, channel, parked.token, parked.meta);
}

function texts(...values: (string | number)[]): string[] {
  return values.map(String);
}

function listOf(ranked: Resource['queue']): string {
  return ranked
    .first(ranked.size)
    .flatMap((id) => [id, String(ranked.score(id))])
    .join(' ');
}
