/** Faults in the effects of a lease's end on other acquisitions. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const release = 'lib/release.lua';
const free = 'short/free.lua';
const park = 'park.lua';
const holders = 'lib/holders.lua';
const holds = 'lib/holds.lua';

export const HAND_OFF_FAULTS: readonly Fault[] = [
  fault('release: reserved fences stay reserved in the ordinary case', [
    free,
    'if is_own and unpassed then last = last - hand_offs end',
    '',
  ]),
  fault('release: reserved fences are freed without a request in the ordinary case', [
    free,
    'if is_own and unpassed then',
    'if is_own then',
  ]),
  fault('release: reserved fences stay reserved', [
    release,
    'if unpassed then take_back_fences(h, 0) end',
    '',
  ]),
  fault('release: reserved fences are freed without a request', [
    release,
    'if unpassed then take_back',
    'do take_back',
  ]),
  fault('park: reserved fences stay reserved', [park, 'take_back_fences(h, last_used)', '']),
  fault('park: used fences become free', [
    park,
    'take_back_fences(h, last_used)',
    'take_back_fences(h, 0)',
  ]),
  fault('holders: a lease keeps the weight of a released hold', [
    holders,
    'if left > 0 and full == 0 then weigh_again(h) end',
    '',
  ]),
  fault('holders: each hold gets the weight of the lease', [
    holders,
    'append_hold(h, w.id, w.weight, w.channel, expires)',
    'append_hold(h, w.id, h.weight, w.channel, expires)',
  ]),
  fault('holds: the weight of a released hold stays in use', [
    holds,
    'used, h.weight, h.holds[4] = used - h.weight + heaviest,',
    'used, h.weight, h.holds[4] = used,',
  ]),
  fault('force: only the first process is notified', [
    holds,
    'listed[channel], id = true, after',
    "listed[channel], id = true, ''",
  ]),
  fault('holds: an expired hold stays', [
    holders,
    'if expires > now then\n      due',
    'if true then\n      due',
  ]),
  fault('holds: a hold is told the end of the lease', [
    holds,
    'root == h.id and expires or 0',
    'root == h.id and h.expires or 0',
  ]),
  fault('holds: a renewal extends only the lease', [
    holders,
    'link(id, 6, math.max(end_of(h, id), expires))',
    'link(id, 6, end_of(h, id))',
  ]),
  fault('holds: the weight of an expired hold stays in use', [
    holders,
    'if full == 0 then weigh_again(h) end\n',
    '',
  ]),
  fault('inspect: a lease with an expired hold is not shown', [
    'inspect.lua',
    'if h and lives(h) then',
    'if h and h.expires < 0 then',
  ]),
  fault('force: a process is notified of each hold', [holds, ' and not listed[channel]', '']),
  fault('holders: reserved fences of other leases are freed', [
    holders,
    'if fence == last then fence = math',
    'do fence = math',
  ]),
];
