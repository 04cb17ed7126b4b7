/** Faults in parking and in signals. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const park = 'park.lua';
const signal = 'signal.lua';
const parking = 'lib/parking.lua';

export const PARKING_FAULTS: readonly Fault[] = [
  fault('park: the lease is kept', [park, 'leave(h, id)\n    take_back', 'take_back']),
  fault('park: a lease with several holds is accepted', [park, 'holds > 1 or kind', 'kind']),
  fault('park: one more than the limit', [park, '>= max_parked', '> max_parked']),
  fault('park: a repeat releases the lease again', [park, 'elseif not lease_of(as) then', 'else']),
  fault('park: a parked acquisition keeps its old channel', [
    park,
    'e.channel, e.token',
    'e.chan, e.token',
  ]),
  fault('park: a queued waiter keeps its old channel', [
    park,
    'w.channel, w.token = channel, token',
    'w.token = token',
  ]),
  fault('park: a parked acquisition does not return to the queue', [
    park,
    "refusal and want == 'permits'",
    'refusal and false',
  ]),
  fault('park: the queue is not served', [park, 'serve(as)\n', '']),
  fault('park: an abandoned acquisition keeps its place', [
    park,
    'remove_parked(as)\n  local w',
    'local w',
  ]),
  fault('park: an abandoned acquisition keeps its lease', [park, 'if h then leave(h, id) end', '']),
  fault('park: an acquisition abandoned while queued drops the signal', [
    park,
    'if w and w.signalled then unconsumed_signals[#unconsumed_signals + 1] = w.signalled end',
    '',
  ]),
  fault('park: every reply says that the waiter was signalled', [
    park,
    'w.signalled and 1 or 0',
    '1',
  ]),
  fault('park: the reply to a grant omits its signal', [park, 'h.signalled and 1 or 0', '0']),
  fault('signal: a repeat wakes another waiter', [signal, 'seq > sent_by(h, id)', 'true']),
  fault('signal: a late duplicate gets the reply of the last signal', [
    signal,
    'if last ~= seq then',
    'if false then',
  ]),
  fault(
    'signal: the holds of a lease count together',
    ['lib/holds.lua', "if h.owner == '' then return h.seq", 'if true then return h.seq'],
    ['lib/holders.lua', "if h.owner == '' then\n    h.seq", 'if true then\n    h.seq'],
  ),
  fault('signal: an id without a lease may signal', [
    signal,
    'lease_of(id)',
    '(lease_of(id) or sole)',
  ]),
  fault('parking: an entry stays in the chain of all', [
    parking,
    "  unlink('l', e, 'older', 'newer')\n  leave_process(id)\n  entries[id]",
    '  entries[id]',
  ]),
  fault('parking: a removed first entry stays first', [
    parking,
    'change(e[back])[forth] = e[forth] else c.first = e[forth] end',
    'change(e[back])[forth] = e[forth] end',
  ]),
  fault('parking: the next entry is not updated', [
    parking,
    'change(e[forth])[back] = e[back] else',
    'else',
  ]),
];
