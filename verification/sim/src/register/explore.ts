/** Runs many seeds of simulated registers. */
import { type Exploration, exploreSeeds } from '../common/explore.js';
import { loadRegister } from './library.js';
import { registerPlanOf } from './plan.js';
import { runRegister } from './run.js';

const COUNTS = {
  grants: 'grants',
  swaps: 'swaps',
  crashes: 'crashes',
  closes: 'closes',
  steps: 'steps of the clock',
  outages: 'outages',
  restores: 'restored backups',
  events: 'events',
} as const;

export async function exploreRegister(exploration: Exploration): Promise<boolean> {
  const library = await loadRegister();
  return exploreSeeds((seed) => runRegister(registerPlanOf(seed), library), COUNTS, exploration);
}
