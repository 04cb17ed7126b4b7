/** Mistakes in what changes leases and capacities, as those of `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'acquire.lua';
const resize = 'resize.lua';
const capacity = 'capacity.lua';
const record = 'lib/record.lua';
const holders = 'lib/holders.lua';

export const CHANGE_FAULTS: readonly Fault[] = [
  fault('resize: the fence stays', [holders, 'h.fence = fence\n  end', 'end']),
  fault('resize: the fence is forgotten', [
    holders,
    'fence = math.max(fence + 1, now)\n    h.fence',
    'h.fence',
  ]),
  fault('resize: less has a fence of its own', [holders, 'if wanted > h.weight then', 'do']),
  fault('resize: what is freed is still used', [
    holders,
    'used, h.weight = used + wanted - h.weight, wanted',
    'used, h.weight = used, wanted',
  ]),
  fault('resize: more than fits', [resize, 'if weight > h.weight and used', 'if false and used']),
  fault('resize: less must fit too', [resize, 'if weight > h.weight and used', 'if used']),
  fault('resize: a late duplicate counts', [
    resize,
    'if own_fence ~= h.fence then',
    'if false then',
  ]),
  fault('resize: other holds are changed too', [
    resize,
    'if hold_count(h) > 1 then',
    'if false then',
  ]),
  fault('resize: one of several holds takes more than the lease weighs', [
    resize,
    ' or weight > h.weight then return',
    ' then return',
  ]),
  fault('resize: one of several holds is given nothing', [
    resize,
    'resize_hold(h, id, weight)',
    '',
  ]),
  fault('resize: the weight of the lease is the weight of each hold', [
    resize,
    'if weight == own then',
    'if weight == own or weight == h.weight then',
  ]),
  fault('resize: the queue is not served', [resize, "serve('')\n", '']),
  fault('capacity: a waiter that lost its place changes it', [
    acquire,
    'capacity and may_agree and idle()',
    'capacity and idle()',
  ]),
  fault('capacity: a waiter that lost its place makes it a mutex', [
    acquire,
    'used == 0 and may_agree and',
    'used == 0 and',
  ]),
  fault('capacity: the queue is not served', [capacity, "serve('')\n", '']),
  fault('capacity: anybody changes it', [capacity, 'capacity == from or', 'true or']),
  fault('capacity: only what is free changes', [capacity, 'capacity == from or', '']),
  fault('capacity: the sole lease is lost', [holders, 'sole, many = nil, true\n', 'many = true\n']),
  fault('capacity: fences stay reserved for hand_offs', [holders, 'h.hand_offs = 0\n', '']),
  fault('capacity: many leases at a capacity of 1 are one', [
    record,
    'many = capacity ~= 1 or (used > 0 and not sole)',
    'many = capacity ~= 1',
  ]),
];
