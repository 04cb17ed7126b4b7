/** Mistakes in what a lease that ends leaves to others, as those of `faults.ts`. */
import { type Fault, fault } from './faults.js';

const release = 'release.lua';
const park = 'park.lua';
const holders = 'lib/holders.lua';
const holds = 'lib/holds.lua';

const cut = 'math.min(h.expires, now + from.ttl * 1000)';

export const HAND_OFF_FAULTS: readonly Fault[] = [
  fault('release: a pass lasts for the rest of a longer lease', [release, cut, 'h.expires']),
  fault('release: a pass prolongs', [release, cut, 'now + from.ttl * 1000']),
  fault('release: reserved fences stay in the ordinary case', [
    release,
    'if unpassed and fence == own + hand_offs then fence = own end',
    '',
  ]),
  fault('release: reserved fences go back unasked in the ordinary case', [
    release,
    'if unpassed and fence == own',
    'if fence == own',
  ]),
  fault('release: reserved fences stay', [
    release,
    "if to == '' and unpassed then take_back_fences(h) end",
    '',
  ]),
  fault('release: reserved fences go back unasked', [release, "'' and unpassed then", "'' then"]),
  fault('release: reserved fences go back at a pass', [
    release,
    "to == '' and unpassed",
    'unpassed',
  ]),
  fault('park: reserved fences stay', [park, 'take_back_fences(h)', '']),
  fault('holders: a lease keeps the weight of a hold that left', [
    holders,
    'if left > 0 and full == 0 then weigh_again(h) end',
    '',
  ]),
  fault('holders: each hold weighs what the lease does', [
    holders,
    'append_hold(h, w.id, w.weight, w.channel)',
    'append_hold(h, w.id, h.weight, w.channel)',
  ]),
  fault('holds: what a hold that left weighed is still used', [
    holds,
    'used, h.weight, h.holds[4] = used - h.weight + heaviest,',
    'used, h.weight, h.holds[4] = used,',
  ]),
  fault('force: only the first process is told', [
    holds,
    'listed[channel], id = true, after',
    "listed[channel], id = true, ''",
  ]),
  fault('force: a process is told of each hold', [holds, ' and not listed[channel]', '']),
  fault('holders: fences of others go back', [
    holders,
    'if fence == h.fence + h.hand_offs then fence = h.fence end',
    'fence = h.fence',
  ]),
];
