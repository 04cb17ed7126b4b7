/**
 * When an acquisition may report that another owner has the lock: the store has replied since the
 * call; or another task of its process holds the lock, or waits for it and had a reply to its last
 * request. Such a task stands for all of its process (`docs/decisions/0010-roots.md`).
 */
import { ownerOf } from '../plan/plan.js';
import type { World } from '../world/world.js';
import type { Attempt } from './attempt.js';

const SLACK_MS = 100;

export function mayBlame(world: World, { client, task, askedAt }: Attempt): boolean {
  const answered = client.redis.answeredAt(task.key);
  if (answered >= askedAt || world.watch.isHeldBy(client, task.key)) return true;
  const { claimWindow, requestTimeout } = client.plan.options;
  const mayShare = !task.fair && ownerOf(task) === undefined && task.renew;
  return mayShare && answered >= askedAt - claimWindow - requestTimeout - SLACK_MS;
}
