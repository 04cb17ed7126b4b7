/**
 * Polls the waiters of a process: one command for all ids.
 *
 * A poll shows that the process is alive and extends the life of its parked waiters. A queued id
 * that cannot join a live lease of its owner loses its place, is reported as absent, and gets the
 * reason when it repeats the request.
 */
import { parkedPause, pauseAgain, pauseOf } from './idle.js';
import { ASKED, processOf } from './processes.js';
import type { Resource } from './resource.js';
import { granted, next, type CommandContext, rejoin, serve } from './serve.js';
import type * as T from './commands.js';

export function poll(
  resource: Resource | undefined,
  { ids, patience, period = 0, retention }: T.Poll,
  context: CommandContext,
): T.PollReply {
  const { now } = context;
  if (resource === undefined) {
    return {
      status: 'polled',
      now,
      next: 0,
      standings: ids.map(() => ({ status: 'absent' })),
      pause: 0,
    };
  }
  resource.dropExpired(now);
  const [first = ''] = ids;
  const { heard, paused } = resource.processes.all.get(processOf(first)) ?? { heard: 0, paused: 0 };
  for (const id of ids) {
    resource.processes.polled(id, now, patience, 0, period);
    const waiter = resource.waiters.get(id);
    if (waiter !== undefined) rejoin(resource, waiter, now);
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  const standings = ids.map((id): T.Standing => {
    const holder = resource.leaseOf(id, now);
    if (holder !== undefined) return granted(holder, id, now);
    if (resource.waiters.has(id)) return { status: 'queued' };
    resource.parking.hear(id, now, retention);
    return { status: resource.parking.get(id) === undefined ? 'absent' : 'parked' };
  });
  const all = (status: string): boolean => standings.every((one) => one.status === status);
  let pause = 0;
  if (ids.length > 0 && period > 0) {
    if (paused !== ASKED && all('queued')) {
      const last = { heard, paused };
      pause = pauseAgain(resource, last, now, period);
      if (pause === 0) pause = pauseOf(resource, first, last, now, period);
    } else if (all('parked'))
      pause = parkedPause(resource.parking.size, ids.length, period, retention);
  }
  if (pause > 0) resource.processes.polled(first, now, patience, pause, period);
  return { status: 'polled', now, next: next(resource, context), standings, pause };
}
