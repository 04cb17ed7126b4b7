/** Faults in the pauses of idle waiters. See `faults.ts` and `engine/idle.ts`. */
import { type Fault, fault } from './faults.js';

const poll = 'poll.lua';
const wait = 'short/wait.lua';
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
    'if before < 8 or others_in_front(id, front, before) < 8 then',
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
    'pause_of(ids[1], front, before)',
    'pause_of(ids[1], front, before + 1)',
  ]),
  fault('wait: a pause does not count for the silence', [
    wait,
    'pause > 0 and pause - period or 0',
    '0',
  ]),
  fault('wait: the patience counts before the pause only', [wait, '(patience + extra)', 'extra']),
  fault('wait: a pause is not recorded', [wait, 'pause > 0 and now + pause * 1000', 'nil']),
  fault('wait: a process that polls has one waiter', [
    wait,
    "UNPACK.process(process, 'waiters')",
    '1',
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
    'math.min(16, share, math.floor(retention / (4 * period)))',
    'math.min(16, share)',
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
  fault('processes: another command ends the silence of a pause', [
    processes,
    'if p.paused > now then till = math.max(till, p.till) end',
    '',
  ]),
  fault('processes: no waiter is asked after a lapse', [processes, 'lapsed = true', '']),
  fault('serve: a process that was asked still pauses', [
    serve,
    'p.paused, p.till, p.changed = 0,',
    'p.paused, p.till, p.changed = p.paused,',
  ]),
  fault('serve: a process that was asked may be silent for its pause', [
    serve,
    'math.min(p.till, now + 2 * w.claim * 1000), true\n      if w.channel',
    'p.till, true\n      if w.channel',
  ]),
  fault('serve: a process that pauses is granted without a question', [
    serve,
    'paused_grant = paused_grant or (id ~= self and is_paused(w))',
    '',
  ]),
  fault('serve: nobody is asked by push', [serve, "push(w.channel, 'a ' .. id)", '']),
  fault('plain: a process that pauses is granted in short', [plain, 'if paused or (', 'if (']),
  fault('plain: a request ends the silence of a pause', [
    plain,
    'paused and paused > now',
    'false',
  ]),
  fault('plain: a request ends a pause', [
    plain,
    'return packed_process(waiters + change, heard, till, paused)',
    'return packed_process(waiters + change, heard, till)',
  ]),
  fault('waiters: a pause is not saved', [waiters, 'not paused or paused == 0', 'true']),
];
