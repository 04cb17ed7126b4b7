/** Mistakes in what tells the living from the dead, and in polls; as those of `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'acquire.lua';
const park = 'park.lua';
const poll = 'poll.lua';
const holders = 'lib/holders.lua';
const parking = 'lib/parking.lua';
const processes = 'lib/processes.lua';
const serve = 'lib/serve.lua';

export const LIVENESS_FAULTS: readonly Fault[] = [
  fault('liveness: nobody is silent', [processes, 'p.till <= now', 'false']),
  fault('liveness: one that said nothing is silent', [processes, ' and p.till ~= 0', '']),
  fault('liveness: one poll more is awaited', [processes, 'p.till <= now', 'p.till < now']),
  fault('liveness: a subscriber of a pattern is alive', [
    serve,
    ' or not has_subscribers(channel) then',
    ' then',
  ]),
  fault('liveness: acquire says nothing', [acquire, 'hear_process(id, patience)', '']),
  fault('liveness: park says nothing', [park, 'hear_process(as, patience)', '']),
  fault('liveness: poll says nothing', [poll, 'hear_process(id, patience)', '']),
  fault('liveness: a patience of 0 is none', [processes, 'patience > 0 and ', '']),
  fault('liveness: a claim that lapsed tells nothing', [holders, '      lapse(sole)\n', '']),
  fault('liveness: a whole lease that ended is a claim', [
    processes,
    'h.expires < h.since + h.ttl * 1000 and ',
    '',
  ]),
  fault('liveness: a claim counts against one that was heard', [
    processes,
    '(p.heard <= h.since or p.heard > now)',
    'true',
  ]),
  fault('liveness: the silent are woken', [serve, 'not is_silent(id) and (e', '(e']),
  fault('liveness: the queued are not counted', [serve, '  enter_process(w.id)\n', '']),
  fault('liveness: the parked are not counted', [parking, '  enter_process(e.id)\n', '']),
  fault('liveness: a process is not forgotten', [processes, 'p.waiters > 0 and ', '']),
  fault('poll: a queued id does not join its owner', [poll, 'if w then rejoin(w) end', '']),
];
