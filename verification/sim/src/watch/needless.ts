/**
 * `dropped`: a process that nothing has disturbed keeps a renewed lease. It does not report a lease
 * lost that the store still has for a good part of its length.
 */
import type { Attempt } from '../work/attempt.js';
import type { World } from '../world/world.js';
import { rootOf } from './identities.js';

/** The part of its ttl that the store still has the lease for. */
const PART = 0.25;

/** Messages, one after another, that a claim window must be long enough for. */
const MESSAGES = 10;

/** More than the lateness of a timer. */
const TIMER_MS = 50;

/** Called when a process learns that it lost its lease. */
export function checkLoss(world: World, { task, client, lease, name, askedAt }: Attempt): void {
  const { server, plan } = world;
  const { weather } = plan;
  const { claimWindow, requestTimeout } = client.plan.options;
  const least = Math.min(claimWindow, requestTimeout, task.ttl / 2);
  const isQuick = least > TIMER_MS + MESSAGES * (weather.latency + weather.jitter);
  const isSteady = isQuick && !weather.loose && weather.spikes === 0 && !client.closing;
  const isKept = task.renew && task.maxHold === undefined;
  if (lease === undefined || !isSteady || !isKept || client.clearSince >= askedAt) return;
  const own = server.engine.resource(task.key)?.leaseOf(rootOf(lease.id), server.now());
  if (own === undefined || own.fence > lease.fence) return;
  const left = (own.expires - server.now()) / 1000;
  if (left < PART * task.ttl) return;
  world.report('dropped', task.key, `${name} lost its lease, which the store has for ${left} ms`);
}
