/** Faults in the effects of a lease's end on other acquisitions. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const release = 'release.lua';
const free = 'lib/free.lua';
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
    'append_hold(h, w.id, w.weight, w.channel)',
    'append_hold(h, w.id, h.weight, w.channel)',
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
  fault('force: a process is notified of each hold', [holds, ' and not listed[channel]', '']),
  fault('holders: reserved fences of other leases are freed', [
    holders,
    'if fence == last then fence = math',
    'do fence = math',
  ]),
];
