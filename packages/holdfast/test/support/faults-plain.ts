/** Faults in the short paths for a plain record. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquireAlone = 'acquire.lua';
const join = 'short/join.lua';
const takeMany = 'acquireMany.lua';
const freeMany = 'releaseMany.lua';
const showMany = 'inspectMany.lua';
const names = 'lib/names.lua';
const take = 'short/take.lua';
const free = 'short/free.lua';
const renew = 'short/renew.lua';
const leave = 'short/leave.lua';
const inspect = 'short/inspect.lua';
const turn = 'short/turn.lua';
const plain = 'short/plain.lua';
const record = 'lib/record.lua';
const serve = 'lib/serve.lua';
const waiters = 'lib/waiters.lua';
const holders = 'lib/holders.lua';

export const PLAIN_FAULTS: readonly Fault[] = [
  fault('short acquire: a lease that has ended is granted again', [
    'short/join.lua',
    'holder == id and expires > now',
    'holder == id',
  ]),
  fault('short acquire: a lease has its last fence', [
    'short/join.lua',
    "'granted', now, last - h_hand_offs",
    "'granted', now, last",
  ]),
  fault('short acquire: the lease of any other is granted', [
    'short/join.lua',
    'if holder == id and',
    'if',
  ]),
  fault('short acquire: an expired lease holds the lock', [
    join,
    'holder ~= id and expires > now',
    'holder ~= id',
  ]),
  fault('short acquire: the holder joins the queue', [
    join,
    'holder ~= id and expires > now',
    'expires > now',
  ]),
  fault('short acquire: the weight and the capacity are ignored', [
    take,
    'wanted_kind == 1 and',
    'true and',
  ]),
  fault('short acquire: the other waiters of its process are forgotten', [
    acquireAlone,
    'seen, stored, count = unpack(',
    'seen, stored = unpack(',
  ]),
  fault('short acquire: a newcomer passes the limit of the queue', [
    join,
    'queued < max_queue or',
    'true or',
  ]),
  fault('short acquire: a returning waiter loses its place', [
    join,
    'if place == 0 then place = ticket_after',
    'do place = ticket_after',
  ]),
  fault('short acquire: a waiter keeps its old channel and token', [
    join,
    "asked[PLACE.waiter('channel')] = channel\n      asked[PLACE.waiter('token')] = token\n",
    '',
  ]),
  fault('short acquire: the queue has no expiry', [
    join,
    "if queued == 1 then redis.call('PEXPIREAT', queue, kept) end",
    '',
  ]),
  fault('short acquire: fair waiters are not counted', [join, 'fair_before + fair', 'fair_before']),
  fault('short acquire: the last ticket goes back', [
    join,
    'math.max(ticket_before, place)',
    'place',
  ]),
  fault('short acquire: the process is counted twice', [join, 'joins and 1 or 0', '1']),
  fault('short release: the id is not compared', [
    free,
    'holder == id and expires > now',
    'expires > now',
  ]),
  fault('short release: an expired lease is released', [
    free,
    'holder == id and expires > now',
    'holder == id',
  ]),
  fault('short release: the queue is not served', [
    free,
    'if is_own and queued == 0 then',
    'if is_own then',
  ]),
  fault('acquireMany: a mutex that is held counts as taken', [
    takeMany,
    'if answer ~= now then',
    "if answer ~= now and answer[1] == 'granted' then",
  ]),
  fault('acquireMany: the hand-offs grow with each mutex', [
    takeMany,
    'index, resource, id, hand_offs)',
    'index, resource, id)',
  ]),
  fault('acquireMany: the token of another acquisition', [
    takeMany,
    'all_tokens[index]',
    'all_tokens[1]',
  ]),
  fault('acquireMany: the wait of another acquisition', [
    takeMany,
    'all_waited[index]',
    'all_waited[1]',
  ]),
  fault('acquireMany: the queue of another mutex', [
    takeMany,
    "resource .. ':q'",
    "names[1] .. ':q'",
  ]),
  fault('acquireMany: another place', [takeMany, '1] = place', '1] = 3 - place']),
  fault('releaseMany: every lease counts as released', [
    freeMany,
    'if answer ~= now then',
    'if false then',
  ]),
  fault('releaseMany: the queue of another mutex', [
    freeMany,
    "resource .. ':q'",
    "names[1] .. ':q'",
  ]),
  fault('names: the last acquisition is missing', [
    names,
    'unpack(ids, count + 2)',
    'unpack(ids, count + 3)',
  ]),
  fault('names: those of the next mutex', [
    names,
    'unpack(ids, 2, count + 1)',
    'unpack(ids, 3, count + 2)',
  ]),
  fault('inspectMany: an expired lease is shown', [
    showMany,
    "holder == '' or expires <= now",
    "holder == ''",
  ]),
  fault('inspectMany: the waiters are not shown', [
    showMany,
    'if queued > 0 then',
    'if false then',
  ]),
  fault('inspectMany: the fence after the hand-offs', [
    showMany,
    'local own = last - passes',
    'local own = last',
  ]),
  fault('inspectMany: the time of the grant is lost', [
    showMany,
    'since == 0 and own or since',
    'since',
  ]),
  fault('inspectMany: another mutex', [showMany, 'names[place]', 'names[1]']),
  fault('releaseMany: another place', [freeMany, '1] = place', '1] = 3 - place']),
  fault('short renewal: an expired lease is restored', [
    renew,
    'holder == id and expires > now',
    'holder == id',
  ]),
  fault('short renewal: the lease becomes shorter', [
    renew,
    'math.max(expires, now + ttl * 1000)',
    'now + ttl * 1000',
  ]),
  fault('short turn: a root with another fence ends', [
    turn,
    ' or last - passes ~= own_fence then',
    ' then',
  ]),
  fault('short turn: used fences become free', [
    turn,
    'last = math.min(last, math.max(own_fence, last_used))',
    'last = own_fence',
  ]),
  fault('short turn: used fences beyond the reserved ones count', [
    turn,
    'math.min(last, math.max(own_fence, last_used))',
    'math.max(own_fence, last_used)',
  ]),
  fault('short turn: the next root overtakes the queue', [
    turn,
    'if queued == 0 then\n    local kept, granted',
    'do\n    local kept, granted',
  ]),
  fault('short inspect: the last fence is shown as the fence of the lease', [
    inspect,
    'local own = last - passes',
    'local own = last',
  ]),
  fault('short inspect: an ended lease is shown', [inspect, ' or expires <= now', '']),
  fault('short inspect: waiters are not shown', [inspect, 'queued > 0 or ', '']),
  fault('short turn: the next root loses the place of its tasks', [
    turn,
    'local place = old_ticket',
    'local place = 0',
  ]),
  fault('short turn: the ticket of the next root is forgotten', [
    turn,
    'last_ticket = math.max(last_ticket, place)',
    'last_ticket = last_ticket',
  ]),
  fault('short turn: two roots of a process are counted as one', [
    turn,
    ' and process_of(first) ~= process then',
    ' then',
  ]),
  fault('short grant: a silent process is granted', [plain, 'till ~= 0 and till <= now', 'false']),
  fault('short grant: it lasts the whole ttl', [plain, 'math.min(ttl, claim)', 'ttl']),
  fault('short grant: fair waiters are overtaken', [
    plain,
    'fair == 0 and fair_waiting > 0',
    'false',
  ]),
  fault('short grant: a fair root has more hand-offs if it is alone', [
    plain,
    'fair == 0 and waiting == 0',
    'waiting == 0',
  ]),
  fault('short grant: a fair root has no hand-offs', [
    plain,
    'fair == 0 and fair_waiting > 0',
    'fair == 1 or fair_waiting > 0',
  ]),
  fault('short acquire: a fair root has no hand-offs', [
    take,
    'if fair == 0 then hand_offs = hand_offs_alone(hand_offs) end',
    'if fair == 0 then hand_offs = hand_offs_alone(hand_offs) else hand_offs = 0 end',
  ]),
  fault('short acquire: a repeated request tells the id ahead', [
    join,
    'if joins and fair == 1',
    'if fair == 1',
  ]),
  fault('acquire: the first id of the queue is ahead', [
    waiters,
    "'ZRANGE', queue, -2, -1",
    "'ZRANGE', queue, 0, 1",
  ]),
  fault('acquire: an id is ahead of a waiter that is not the last', [
    waiters,
    "return last[2] == id and last[1] or ''",
    "return last[1] or ''",
  ]),
  fault('acquire: the only lease is not ahead', [holders, 'if sole then return sole.id end', '']),
  fault('acquire: one of several leases is ahead', [holders, 'many and leases == 1', 'many']),
  fault('short release: a waiter that leaves still counts for its process', [
    leave,
    'counted(count, -1, 0)',
    'count',
  ]),
  fault('short release: a waiter that leaves still counts as fair', [
    leave,
    'fair_before - fair',
    'fair_before',
  ]),
  fault('short release: the record keeps a waiter that left', [
    leave,
    "redis.call('HDEL', resource, 'w:' .. id, process)",
    "redis.call('HDEL', resource, process)",
  ]),
  fault('short release: a waiter leaves a lock that is free', [
    leave,
    'queued > 0 and expires > now and',
    'queued > 0 and',
  ]),
  fault('short turn: the next root is not fair', [
    turn,
    'hand_offs = hand_offs, fair = fair',
    'hand_offs = hand_offs, fair = 0',
  ]),
  fault('short turn: the next root is not counted as fair', [
    turn,
    'fair_waiting + fair, forget',
    'fair_waiting, forget',
  ]),
  fault('short turn: a fair root has more hand-offs if it is alone', [
    turn,
    'fair == 1 and hand_offs or hand_offs_alone(hand_offs)',
    'hand_offs_alone(hand_offs)',
  ]),
  fault('turn: the next root is not fair', ['turn.lua', 'fair = fair,', 'fair = 0,']),
  fault('short grant: a root has the same hand-offs if it is alone', [
    plain,
    'elseif fair == 0 and waiting == 0 then',
    'elseif false then',
  ]),
  fault('short grant: no fences are reserved', [plain, 'last = own + hand_offs', 'last = own']),
  fault('short grant: the fence is the time', [plain, 'math.max(fence + 1, now)', 'now']),
  fault('short grant: the push has no token', [plain, 'hand_offs, 1, token', "hand_offs, 1, ''"]),
  fault('short grant: the waiter stays', [plain, "redis.call('HDEL', resource, 'w:' .. id)\n", '']),
  fault('short grant: a process without waiters stays', [
    plain,
    "redis.call('HDEL', resource, 'w:' .. id, process)",
    "redis.call('HDEL', resource, 'w:' .. id)",
  ]),
  fault('short grant: a process keeps the number of its waiters', [
    plain,
    'packed_process(waiters - 1, heard, till, paused)',
    'count',
  ]),
  fault('plain: a queue with a heavy waiter, an owner or a signal counts as plain', [
    serve,
    " and w.weight == 1 and w.owner == '' and not w.signalled",
    '',
  ]),
  fault('plain: a queue with other waiters becomes plain', [
    record,
    '(plain or waiting == 0)',
    '(true)',
  ]),
  fault('plain: a record with parked waiters is plain', [record, ' and parked == 0', '']),
  fault('plain: a record of another kind is plain', [record, ' and kind == 1', '']),
  fault('plain: the lease of an owner is plain', [record, "sole.owner == '' and ", '']),
  fault('plain: a lease with signals is plain', [
    record,
    'and not (sole.signalled or sole.seq or sole.changes)',
    '',
  ]),
  fault('plain: the time of the grant is forgotten', [
    record,
    'since == sole.fence and 0 or since',
    '0',
  ]),
];
