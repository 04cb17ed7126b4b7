/**
 * Moves a reply from the time of the command to the time at which its state was stored. The engine
 * runs before the swap, with an earlier time: a client counts a lease's remaining time from before
 * its request, and would believe for too long. Points in time (fences, tickets, expiries) do not
 * move.
 */
import type { KeyReply, Micros, Standing } from '../../engine/commands.js';

export function atCommit<R extends KeyReply>(reply: R, stored: Micros): R {
  const late = stored - reply.now;
  if (late <= 0) return reply;
  const later = moved(reply, late, stored);
  // of a turn: how the next root stands
  return ('again' in later ? { ...later, again: moved(later.again, late, stored) } : later) as R;
}

function moved(reply: KeyReply, late: Micros, now: Micros): KeyReply {
  const less = (micros: Micros): Micros => Math.max(0, micros - late);
  switch (reply.status) {
    case 'granted':
    case 'renewed':
    case 'resized':
    case 'forced':
      return { ...reply, now, left: less(reply.left) };
    case 'queued':
    case 'gate':
      return { ...reply, now, next: sooner(reply.next, late) };
    case 'refused':
      // of an acquisition: `next`, of a change of the weight: `left`
      if ('next' in reply) return { ...reply, now, next: sooner(reply.next, late) };
      return { ...reply, now, left: less(reply.left) };
    case 'polled': {
      const standings = reply.standings.map((one): Standing => {
        return one.status === 'granted' ? { ...one, now, left: less(one.left) } : one;
      });
      return { ...reply, now, next: sooner(reply.next, late), standings };
    }
    case 'inspected': {
      const holders = reply.holders.map((one) => ({ ...one, left: less(one.left) }));
      return { ...reply, now, holders };
    }
    case 'full':
    case 'mismatch':
    case 'conflict':
    case 'crowded':
    case 'parked':
    case 'shared':
    case 'absent':
    case 'freed':
    case 'kept':
    case 'dequeued':
    case 'signalled':
    case 'changed':
    case 'other':
      return { ...reply, now };
  }
}

/** It stays positive: 0 means no event. */
function sooner(next: Micros, late: Micros): Micros {
  return next === 0 ? 0 : Math.max(1, next - late);
}
