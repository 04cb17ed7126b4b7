/** Runs a plan of a register to its end. */
import type { Violation } from '../common/leases.js';
import { runWorld } from '../common/run-world.js';
import type { RegisterLibrary } from './library.js';
import type { RegisterPlan } from './plan.js';
import { RegisterTasks } from './tasks.js';
import { RegisterWorld } from './world.js';

export interface RegisterResult {
  readonly violations: readonly Violation[];
  readonly grants: number;
  /** Swaps that took effect. */
  readonly swaps: number;
  readonly crashes: number;
  readonly closes: number;
  /** Changes of the clock of the register. */
  readonly steps: number;
  readonly outages: number;
  readonly restores: number;
  readonly events: number;
}

export async function runRegister(
  plan: RegisterPlan,
  library: RegisterLibrary,
): Promise<RegisterResult> {
  const world = new RegisterWorld(plan, library);
  await runWorld(world, new RegisterTasks(world));
  const { violations, counts, leases, scheduler, server } = world;
  const { swaps } = server;
  return { grants: leases.grants, swaps, ...counts, violations, events: scheduler.count };
}
