/** Faults in the detection of dead processes, and in polls. See `faults.ts`. */
import { type Fault, fault } from './faults.js';

const acquire = 'lib/acquire.lua';
const park = 'park.lua';
const poll = 'poll.lua';
const holders = 'lib/holders.lua';
const parking = 'lib/parking.lua';
const processes = 'lib/processes.lua';
const serve = 'lib/serve.lua';

export const LIVENESS_FAULTS: readonly Fault[] = [
  fault('liveness: no process is ever silent', [processes, 'p.till <= now', 'false']),
  fault('liveness: a process without a deadline is silent', [processes, ' and p.till ~= 0', '']),
  fault('liveness: a process is silent one microsecond too late', [
    processes,
    'p.till <= now',
    'p.till < now',
  ]),
  fault('liveness: a pattern subscriber counts as alive', [
    'lib/push.lua',
    'if not has_subscribers(channel) then return false end',
    '',
  ]),
  fault('liveness: acquire does not record the process as heard', [
    acquire,
    'hear_process(id, patience)',
    '',
  ]),
  fault('liveness: park does not record the process as heard', [
    park,
    'hear_process(as, patience)',
    '',
  ]),
  fault(
    'liveness: poll does not record the process as heard',
    [poll, 'process_polled(id, patience, 0, period)', ''],
    [poll, 'process_polled(ids[1], patience, pause, period)', ''],
  ),
  fault('liveness: a patience of 0 sets a deadline', [
    processes,
    'local p = patience > 0 and read_process(id)\n  if not p then return end\n  p.heard',
    'local p = read_process(id)\n  if not p then return end\n  p.heard',
  ]),
  fault('liveness: a lapsed claim has no effect', [holders, '  lapse(h, h.expires)\n', '']),
  fault('liveness: the end of a full lease counts as a lapsed claim', [
    processes,
    '  if expires >= h.since + h.ttl * 1000 then return end\n',
    '',
  ]),
  fault('liveness: a lapsed claim counts against a process heard since', [
    processes,
    '  if p and p.heard > h.since and p.heard <= now then return end\n',
    '',
  ]),
  fault('liveness: waiters of silent processes are woken', [
    serve,
    'not is_silent(id) and (e',
    '(e',
  ]),
  fault('liveness: queued waiters are not counted', [serve, '  enter_process(w.id)\n', '']),
  fault('liveness: parked acquisitions are not counted', [parking, '  enter_process(e.id)\n', '']),
  fault('liveness: a process without waiters is forgotten too late', [
    processes,
    'p.waiters > 0\n        and ',
    '',
  ]),
  fault('poll: a queued id does not join its owner', [poll, 'if w then rejoin(w) end', '']),
];
