/** Faults in the end of roots. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'lib/acquire.lua';
const turn = 'turn.lua';
const inspect = 'inspect.lua';
const holders = 'lib/holders.lua';
const save = 'lib/save.lua';
const serve = 'lib/serve.lua';

export const TURN_FAULTS: readonly Fault[] = [
  fault('turn: used fences become free', [turn, 'is_named and last_used or 0', '0']),
  fault('turn: reserved fences stay reserved', [
    turn,
    'take_back_fences(h, is_named and last_used or 0)',
    '',
  ]),
  fault('turn: a lease with another fence counts as the root', [
    turn,
    'h.fence == own_fence',
    'true',
  ]),
  fault('turn: fences of a late duplicate count as used', [
    turn,
    'is_named and last_used or 0',
    'last_used',
  ]),
  fault('turn: used fences beyond the reserved ones count', [
    holders,
    'math.min(last, math.max(h.fence, last_used))',
    'math.max(h.fence, last_used)',
  ]),
  fault('turn: the next root is queued without a lease', [
    turn,
    '    withdraw(id)\n',
    '    withdraw(id)\n    queue_again()\n',
  ]),
  fault('turn: the next root is not queued', [turn, 'if is_named then queue_again() end', '']),
  fault('turn: a queued id is queued again', [turn, ' or read_waiter(again)', '']),
  fault('turn: a parked id is queued', [turn, ' or read_parked(again)', '']),
  fault('turn: a holder is queued', [turn, 'if lease_of(again) then return end', '']),
  fault('turn: a queued root is not withdrawn', [turn, '    withdraw(id)\n', '']),
  fault('turn: the lease of an owner ends', [turn, "if h.owner ~= '' then return false end", '']),
  fault('turn: the next root goes to the end of the queue', [turn, ' waited = waited,', '']),
  fault('turn: the next root loses the place of its tasks', [turn, 'old_ticket,', '0,']),
  fault('turn: the next root has no token', [turn, 'token = token,', "token = '',"]),
  fault('turn: the process is not recorded as heard', [
    turn,
    "if again ~= '' then hear_process(again, patience) end",
    '',
  ]),
  fault('turn: the next root gets a claim window and a push', [
    turn,
    'serve(again)\nflush',
    "serve('')\nflush",
  ]),
  fault('turn: expired leases are kept', [turn, 'drop_expired()\n', '']),
  fault('turn: a queued next root is reported as absent', [
    turn,
    'if w then return',
    'do end if false then return',
  ]),
  fault('serve: a returning waiter loses its place', [
    serve,
    'if w.ticket == 0 then w.ticket = ticket',
    'do w.ticket = ticket',
  ]),
  fault('queue: a place after a wait is in the past of a set-back clock', [
    'lib/waiters.lua',
    'waited_ms == 0 or last_ticket > now',
    'waited_ms == 0',
  ]),
  fault('queue: the wait of a new root has no effect', [acquire, 'waited = waited', 'waited = 0']),
  fault('acquire: a repeat does not report the tasks', [
    acquire,
    'waiter.channel, waiter.token, waiter.tasks = channel, token, tasks',
    'waiter.channel, waiter.token = channel, token',
  ]),
  fault('holders: a root that is alone has any number of hand-offs', [
    save,
    'math.min(128, 8 * hand_offs)',
    '8 * hand_offs',
  ]),
  fault('holders: a root that is alone has fewer hand-offs than it asked for', [
    save,
    'math.max(hand_offs, math.min(128, 8 * hand_offs))',
    'math.min(16, 8 * hand_offs)',
  ]),
  fault('holders: a root has the same hand-offs if it is alone', [
    holders,
    'elseif w.fair == 0 and waiting == 0 then',
    'elseif false then',
  ]),
  fault('acquire: a root has the same hand-offs if it is alone', [
    'short/take.lua',
    'if fair == 0 then hand_offs = hand_offs_alone(hand_offs) end',
    '',
  ]),
  fault('holders: a grant forgets the tasks', [holders, 'tasks = w.tasks or 0, ', 'tasks = 0, ']),
  fault('inspect: the reserved fences are not shown', [inspect, 'h.hand_offs, left', '0, left']),
];
