/** Faults in changes of leases and capacities. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'lib/acquire.lua';
const resize = 'resize.lua';
const capacity = 'capacity.lua';
const record = 'lib/record.lua';
const holders = 'lib/holders.lua';
const holds = 'lib/holds.lua';

export const CHANGE_FAULTS: readonly Fault[] = [
  fault('resize: the fence stays the same', [holders, 'h.fence = fence\n  end', 'end']),
  fault('resize: the last fence is forgotten', [
    holders,
    'fence = math.max(fence + 1, now)\n    h.fence',
    'h.fence',
  ]),
  fault('resize: a lower weight takes a new fence', [holders, 'if wanted > h.weight then', 'do']),
  fault('resize: freed permits stay in use', [
    holders,
    'used, h.weight = used + wanted - h.weight, wanted',
    'used, h.weight = used, wanted',
  ]),
  fault('resize: more than the free permits', [
    resize,
    'if weight > h.weight and not',
    'if false and not',
  ]),
  fault('resize: a lower weight needs free permits', [
    resize,
    'if weight > h.weight and not',
    'if not',
  ]),
  fault('resize: a late duplicate takes effect', [resize, 'if seq <= last then', 'if false then']),
  fault('resize: other holds change too', [resize, 'if hold_count(h) > 1 then', 'if false then']),
  fault('resize: one of several holds exceeds the weight of the lease', [
    resize,
    ' or weight > h.weight then',
    ' then',
  ]),
  fault('resize: one of several holds keeps its old weight', [
    resize,
    'resize_hold(h, id, weight, seq)',
    '',
  ]),
  fault('resize: a change that the other holds refuse is not noted', [
    resize,
    'or weight > h.weight then\n      save_change(h, id, own, seq)',
    'or weight > h.weight then',
  ]),
  fault('resize: a change that does not fit is not noted', [
    resize,
    'fits(weight - h.weight) then\n    save_change(h, id, own, seq)',
    'fits(weight - h.weight) then',
  ]),
  fault('resize: a change to the present weight is not noted', [
    resize,
    'if weight == own then\n    save_change(h, id, own, seq)',
    'if weight == own then',
  ]),
  fault('resize: a hold forgets its changes when the hold after it leaves', [
    holds,
    'local hold = { read_hold(id) }',
    'local hold = { read_hold(id) }\n  hold[7] = nil',
  ]),
  fault('resize: the weight of the lease is taken for the weight of each hold', [
    resize,
    'if weight == own then\n',
    'if weight == own or weight == h.weight then\n',
  ]),
  fault('resize: the queue is not served', [resize, "serve('')\n", '']),
  fault('capacity: a waiter that lost its place changes the capacity', [
    acquire,
    'if may_agree and idle()',
    'if idle()',
  ]),
  fault('capacity: the queue is not served', [capacity, "serve('')\n", '']),
  fault('capacity: a call with the wrong `from` changes it', [
    capacity,
    'capacity == from or',
    'true or',
  ]),
  fault('capacity: only an idle capacity changes', [capacity, 'capacity == from or', '']),
  fault('capacity: a mutex in use gets another one', [capacity, 'kind == 2 and agreed', 'agreed']),
  fault('kinds: a semaphore of one permit and a mutex share a key', [
    acquire,
    'kind == wanted_kind and',
    '',
  ]),
  fault('kinds: an idle key keeps its kind', [
    holders,
    'kind, capacity = wanted_kind, wanted',
    'capacity = wanted',
  ]),
  fault('kinds: a semaphore of one permit is stored as a mutex', [
    record,
    'and kind == 1 and parked == 0',
    'and capacity == 1 and parked == 0',
  ]),
  fault('kinds: a semaphore of one permit takes the short path of a mutex', [
    'short/take.lua',
    'wanted_kind == 1 and',
    'wanted_kind < 3 and',
  ]),
  fault('kinds: a semaphore of one permit has conditions', [
    'park.lua',
    'or kind ~= 1 then',
    'or capacity ~= 1 then',
  ]),
  fault('capacity: the sole lease is lost', [holders, 'sole, many = nil, true\n', 'many = true\n']),
  fault('capacity: leases are granted beside a root', [
    holders,
    ' and not (sole and sole.hand_offs > 0)',
    '',
  ]),
  fault('capacity: a root becomes one of many', [
    holders,
    ' and sole.hand_offs == 0 then',
    ' then',
  ]),
  fault('capacity: several leases at a capacity of 1 are stored as one', [
    record,
    'many = not sole and (capacity ~= 1 or used > 0)',
    'many = not sole and capacity ~= 1',
  ]),
];
