/** Runs a plan of a quorum to its end. */
import type { Violation } from '../common/leases.js';
import { runWorld } from '../common/run-world.js';
import { Tasks } from '../common/tasks.js';
import type { QuorumLibrary } from './library.js';
import type { QuorumPlan } from './plan.js';
import { QuorumWorld } from './world.js';

export interface QuorumResult {
  readonly violations: readonly Violation[];
  readonly grants: number;
  readonly restarts: number;
  readonly crashes: number;
  /** Steps of the clock of a server. */
  readonly steps: number;
  readonly events: number;
}

export async function runQuorum(plan: QuorumPlan, library: QuorumLibrary): Promise<QuorumResult> {
  const world = new QuorumWorld(plan, library);
  await runWorld(world, new Tasks(world, library.isHoldfastError));
  const { violations, counts, leases, scheduler } = world;
  return { grants: leases.grants, ...counts, violations, events: scheduler.count };
}
