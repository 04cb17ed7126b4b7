/** Requests a warning before a lease ends, and asserts that each warning has a cause. */
import type { AcquireOptions } from '../../../../packages/holdfast/dist/index.js';
import type { World } from '../world/world.js';
import type { Attempt } from './attempt.js';

/** Part of a lease that is long enough for a renewal and its reply. */
const EASILY = 0.1;
/** The largest delay of a timer. */
const TIMER_MS = 30;

/** The options of a task for the warning, if it requests one. */
export function warning(world: World, attempt: Attempt): AcquireOptions {
  const { expiring } = attempt.task;
  if (expiring === undefined) return {};
  const onExpiring = (): void => warned(world, attempt);
  return { onExpiring, ...(expiring === 0 ? {} : { expiringBefore: expiring }) };
}

/** Without a disturbance, the renewal is in time and no warning is given. */
function warned(world: World, { task, client, name }: Attempt): void {
  const { key, ttl, renew, maxHold } = task;
  const { latency, jitter, spikes, spike, loose } = world.plan.network;
  const takes = 4 * (latency + jitter + (spikes > 0 ? spike : 0)) + TIMER_MS;
  const lease = Math.min(ttl, client.plan.options.claimWindow);
  const isEasy = !loose && takes < lease * EASILY;
  const isClear = world.scheduler.now - client.clearSince > 2 * ttl;
  if (!renew || maxHold !== undefined || !isEasy || !isClear) return;
  world.report('warned', key, `${name} was warned without a disturbance of its renewal`);
}
