/** Faults in the pauses of idle waiters. See `faults.ts` and `engine/idle.ts`. */
import { type Fault, fault } from './faults.js';

const poll = 'poll.lua';
const wait = 'short/wait.lua';
const asleep = 'short/asleep.lua';
const plain = 'short/plain.lua';
const processes = 'lib/processes.lua';
const serve = 'lib/serve.lua';
const waiters = 'lib/waiters.lua';

export const PAUSE_FAULTS: readonly Fault[] = [
  fault('poll: a waiter never asks again', [
    poll,
    'math.min(16, 1 + math.floor(before / 8))',
    '1 + math.floor(before / 8)',
  ]),
  fault('poll: the first waiters pause', [
    poll,
    'if before < 8 or (front and others_in_front(id, front, before) < 8) then',
    'if before < 7 then',
  ]),
  fault('poll: waiters of one process count as processes', [
    poll,
    'if not seen_processes[name] then',
    'do',
  ]),
  fault('poll: a process counts as another one', [poll, '{ [process_of(id)] = true }, 0', '{}, 0']),
  fault('wait: the place counts from 1', [
    wait,
    'pause_of(id, front, before)',
    'pause_of(id, front, before + 1)',
  ]),
  fault('wait: nine waiters are few', [wait, 'queued > 8', 'queued > 9']),
  fault('poll: a process pauses again after a grant', [
    poll,
    'if not paused or since >= heard or not in_same(heard) then',
    'if not paused or not in_same(heard) then',
  ]),
  fault('poll: a process pauses again without end', [
    poll,
    'math.floor(heard / interval) == math.floor(now / interval)',
    'true',
  ]),
  fault('poll: those in front are counted in each poll', [
    poll,
    'math.floor(heard / interval) == math.floor(now / interval)',
    'false',
  ]),
  fault('poll: a process that was asked near the head pauses', [
    poll,
    ' and paused ~= 1 then',
    ' then',
  ]),
  fault('poll: the first pause is that of the place', [
    poll,
    "paused == 0 and place_in(front, ids[1]) or redis.call('ZRANK', queue, ids[1])",
    "redis.call('ZRANK', queue, ids[1])",
  ]),
  fault('wait: a process that was asked near the head pauses', [
    wait,
    ' and paused ~= 1 then',
    ' then',
  ]),
  fault('wait: those in front are counted once', [wait, 'paused and in_same(heard)', 'paused']),
  fault('wait: those in front of many are counted in each poll', [
    wait,
    ' and not counted_before and',
    ' and',
  ]),
  fault('wait: those in front of few are counted in each poll', [
    wait,
    ', not counted_before and front',
    ', front',
  ]),
  fault('wait: the first pause is that of the place', [
    wait,
    'queued > FRONT and paused then',
    'queued > FRONT then',
  ]),
  fault('plain: a process that was asked near the head is unknown to its next poll', [
    plain,
    'packed_process(waiters - 1, heard, till, paused)',
    'packed_process(waiters - 1, heard, till)',
  ]),
  fault('poll: a process pauses again for less than a period', [poll, 'pause < period or', '']),
  fault('poll: a process pauses again for more than the longest pause', [
    poll,
    ' or pause > 16 * period',
    '',
  ]),
  fault('poll: a pause is a part of a ms', [
    poll,
    'math.floor((paused - heard) / 1000)',
    '(paused - heard) / 1000',
  ]),
  fault('poll: a process pauses again beside several leases, and the place is the old one', [
    poll,
    'only and pause_again(heard, paused, only.since) or 0',
    'pause_again(heard, paused, 0)',
  ]),
  fault('asleep: those in the queue are forgotten', [asleep, 'queued > 0 or ', '']),
  fault('asleep: an owner has one hold', [asleep, "owner ~= '' or ", '']),
  fault('asleep: a lease that has ended is not noticed', [asleep, ' or expires <= now', '']),
  fault('asleep: the record is not kept for longer', [
    asleep,
    'kept_until(forget, math.max(now, latest), true) ~= forget',
    'false',
  ]),
  fault('asleep: a waiter is asked for, and forgotten', [
    asleep,
    'own[TILL] - now < retention * 500',
    'false',
  ]),
  fault('asleep: one that is no longer asked for stays', [
    asleep,
    'near[first][TILL] <= now',
    'false',
  ]),
  fault('asleep: a waiter that is asked for keeps its place', [
    asleep,
    'if last ~= id',
    'if false',
  ]),
  fault('asleep: a waiter that is asked for is forgotten as before', [
    asleep,
    '  e[TILL] = now + retention * 1000\n',
    '',
  ]),
  fault('asleep: the one before still names the waiter', [
    asleep,
    'before[NEWER], changed[older] = newer, before',
    '',
  ]),
  fault('asleep: the one behind still names the waiter', [
    asleep,
    'after[OLDER], changed[newer] = older, after',
    '',
  ]),
  fault('asleep: the waiter stays the first', [asleep, 'else first = newer end', 'end']),
  fault('asleep: the last entry keeps no newer entry', [
    asleep,
    'near[last][NEWER], changed[last] = id, near[last]',
    '',
  ]),
  fault('asleep: the waiter names the one behind it', [
    asleep,
    "e[OLDER], e[NEWER] = last, ''",
    'e[OLDER] = last',
  ]),
  fault('asleep: the last waiter stays the last', [
    asleep,
    'cmsgpack.pack(first, id, parked)',
    'cmsgpack.pack(first, last, parked)',
  ]),
  fault('asleep: the waiters are counted again', [
    asleep,
    'cmsgpack.pack(first, id, parked)',
    'cmsgpack.pack(first, id, parked + 1)',
  ]),
  fault('asleep: a pause does not count for the silence', [
    asleep,
    'pause > 0 and pause - period or 0',
    '0',
  ]),
  fault('asleep: a pause is not recorded', [asleep, 'pause > 0 and now + pause * 1000', 'nil']),
  fault('asleep: a process that polls has one waiter', [
    asleep,
    "UNPACK.process(process, 'waiters')",
    '1',
  ]),
  fault('asleep: no lease ends', [asleep, 'holder and expires - now or 0', '0']),
  fault('wait: a pause does not count for the silence', [
    wait,
    'pause > 0 and pause - period or 0',
    '0',
  ]),
  fault('wait: the patience counts before the pause only', [wait, '(patience + extra)', 'extra']),
  fault('wait: a pause is not recorded', [wait, 'pause > 0 and now + pause * 1000', 'nil']),
  fault('wait: a process that polls has one waiter', [
    wait,
    'packed_process(waiters, now,',
    'packed_process(1, now,',
  ]),
  fault('wait: a lease that has ended is not noticed', [wait, ' or expires <= now', '']),
  fault('wait: the record is not kept for longer', [wait, 'kept_until(forget, expires)', 'forget']),
  fault('poll: a process pauses of which one acquisition does not wait', [
    poll,
    '(index == 1 or how == all) and how',
    'how',
  ]),
  fault('poll: parked waiters do not pause', [poll, "all == 'parked' then", 'false then']),
  fault('poll: a process of many parked waiters pauses', [poll, '64 * #ids', '64']),
  fault('poll: a parked waiter is forgotten in its pause', [
    poll,
    'math.min(20, share, math.floor(3 * retention / (8 * period)))',
    'math.min(20, share)',
  ]),
  fault('poll: a pause is not recorded', [
    poll,
    'process_polled(ids[1], patience, pause, period)',
    '',
  ]),
  fault('poll: a pause outlasts a poll', [poll, 'process_polled(id, patience, 0, period)', '']),
  fault('processes: a pause does not count for the silence', [
    processes,
    'pause > 0 and pause - period or 0',
    '0',
  ]),
  fault('processes: a shorter patience shortens that of an earlier command', [
    processes,
    'math.max(p.till, now + patience * 1000)',
    'now + patience * 1000',
  ]),
  fault('processes: no waiter is asked after a lapse', [processes, 'lapsed = true', '']),
  fault('serve: a process that was asked still pauses', [
    serve,
    'p.paused = at <= 8 and 1 or 0',
    '',
  ]),
  fault('serve: a process that was asked may be silent for its pause', [
    serve,
    'p.till, p.changed = math.min(p.till, now + 2 * w.claim * 1000), true',
    'p.changed = true',
  ]),
  fault('serve: a process that pauses is granted without a question', [
    serve,
    'paused_grant = paused_grant or (id ~= self and is_paused(w))',
    '',
  ]),
  fault('serve: no process is asked by push', [serve, "publish_here(w.channel, 'a ' .. id)", '']),
  fault('serve: all processes that are asked count as near the head', [serve, 'at <= 8', 'true']),
  fault('serve: a process that was asked is asked again', [
    serve,
    'w and p and p.paused > 1',
    'w and p and p.paused > 0',
  ]),
  fault('serve: a process that was asked counts as one that pauses', [
    serve,
    'return p and p.paused > 1',
    'return p and p.paused > 0',
  ]),
  fault('plain: a process that pauses is granted in short', [
    plain,
    'if (paused and paused > 1) or (',
    'if (',
  ]),
  fault('plain: a shorter patience shortens that of an earlier command', [
    plain,
    'math.max(till, now + patience * 1000)',
    'now + patience * 1000',
  ]),
  fault('plain: a request ends a pause', [
    plain,
    'return packed_process(waiters + change, heard, till, paused)',
    'return packed_process(waiters + change, heard, till)',
  ]),
  fault('waiters: a pause is not saved', [waiters, 'not paused or paused == 0', 'true']),
];
