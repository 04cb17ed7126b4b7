/**
 * Waking: parked waiters of a condition go to the end of the queue, in the order in which they
 * parked, and their processes are told. One whose channel has no subscriber, or whose process is
 * silent, is dead, and the signal goes to the next.
 */
import { SIGNAL_LIMIT } from './limits.js';
import type { Resource } from './resource.js';
import type { CommandContext } from './serve.js';

/**
 * Wakes so many of those who are parked at a condition, or all (0), as far as one command may.
 * Returns how many.
 */
export function wake(
  resource: Resource,
  context: CommandContext,
  condition: string,
  count: number,
): number {
  const { now, pushes } = context;
  let woken = 0;
  for (let looked = 0; looked < SIGNAL_LIMIT && (count === 0 || woken < count); looked++) {
    const parked = resource.parking.remove(resource.parking.first(condition) ?? '');
    if (parked === undefined) break;
    const { id, channel } = parked;
    if (resource.processes.isSilent(id, now)) continue;
    if (channel !== '') {
      if (context.receivers(channel) === 0) continue;
      pushes.push({ channel, push: { kind: 'signal', id } });
    }
    resource.enqueue({ ...parked, ticket: 0 }, now, condition);
    woken += 1;
  }
  return woken;
}

/** Passes on the signals of those who ended without having acted on them. */
export function redeliverSignals(resource: Resource, context: CommandContext): void {
  for (const condition of resource.unconsumedSignals.splice(0))
    wake(resource, context, condition, 1);
}
