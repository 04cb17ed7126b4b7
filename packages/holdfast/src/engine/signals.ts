/**
 * Wakes parked waiters, and notifies their processes. A waiter whose channel has no subscriber, or
 * whose process is silent, is passed over.
 */
import { SIGNAL_LIMIT } from './limits.js';
import type { Resource } from './resource.js';
import type { CommandContext } from './serve.js';

/** `count` waiters of a condition, or all (0), up to `SIGNAL_LIMIT`; returns how many. */
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
    resource.enqueue({ ...parked, handOffs: 0, ticket: 0 }, now, condition);
    woken += 1;
  }
  return woken;
}

/**
 * Removes a waiter from the queue or a condition; false if it is not there. Its signal goes to the
 * next.
 */
export function withdraw(resource: Resource, id: string): boolean {
  const waiter = resource.dequeue(id);
  if (waiter === undefined) return resource.parking.remove(id) !== undefined;
  if (waiter.signalled !== '') resource.unconsumedSignals.push(waiter.signalled);
  return true;
}

export function redeliverSignals(resource: Resource, context: CommandContext): void {
  for (const condition of resource.unconsumedSignals.splice(0))
    wake(resource, context, condition, 1);
}
