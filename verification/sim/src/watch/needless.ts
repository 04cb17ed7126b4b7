/**
 * A process that nothing has disturbed keeps a renewed lease.
 *
 * - `dropped`: it does not report a lease lost that the store still has for a good part of its
 *   length.
 * - `lapsed`: it renews its lease, so the lease does not end.
 */
import type { Attempt } from '../work/attempt.js';
import type { FaultPlan } from '../plan/plan.js';
import type { Client } from '../world/client.js';
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
  const { server } = world;
  const isKept = task.renew && task.maxHold === undefined;
  const isSteady = steady(world, client, task.ttl, askedAt);
  if (lease === undefined || !isSteady || !isKept) return;
  const own = server.engine.resource(task.key)?.leaseOf(rootOf(lease.id), server.now());
  if (own === undefined && !world.watch.excuses(task.key, lease.fence)) {
    world.report('lapsed', task.key, `${name} lost its lease, which was renewed in a calm network`);
  }
  if (own === undefined || own.fence > lease.fence) return;
  const left = (own.expires - server.now()) / 1000;
  if (left < PART * task.ttl || seemedOld(world, client)) return;
  world.report('dropped', task.key, `${name} lost its lease, which the store has for ${left} ms`);
}

/** Called when a process learns of the end of a lease that it renews, and that was not forced. */
export function checkRenewed(
  world: World,
  client: Client,
  { ttl, since, name, key }: { ttl: number; since: number; name: string; key: string },
): void {
  if (world.plan.faults.some(isOfServer) || !steady(world, client, ttl, since)) return;
  world.report('lapsed', key, `${name} lost a lease that it renews`);
}

/**
 * True if the clock of the server was set back within a claim window: a grant that was pushed since
 * then seems older than it is, so its process counts on less of the claim window than there is.
 */
function seemedOld({ plan, scheduler }: World, client: Client): boolean {
  const since = scheduler.now - client.plan.options.claimWindow;
  return plan.faults.some((fault) => {
    const isBack = fault.kind === 'set-clock' && fault.machine === 'server' && fault.step < 0;
    return isBack && fault.at <= scheduler.now && fault.at >= since;
  });
}

/** True if the server does not run as usual, or forgets. */
function isOfServer(fault: FaultPlan): boolean {
  if ('machine' in fault) return fault.machine === 'server';
  return ['restart', 'stop-server', 'forget', 'refuse'].includes(fault.kind);
}

/** True if its messages arrive in time, and nothing has disturbed it since then. */
export function steady({ plan }: World, client: Client, ttl: number, since: number): boolean {
  const { network } = plan;
  const { claimWindow, requestTimeout } = client.plan.options;
  const least = Math.min(claimWindow, requestTimeout, ttl / 2);
  const isQuick = least > TIMER_MS + MESSAGES * (network.latency + network.jitter);
  const isSteady = isQuick && !network.loose && network.spikes === 0 && !client.closing;
  return isSteady && client.clearSince < since;
}
