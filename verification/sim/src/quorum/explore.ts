/** Runs many seeds of simulated quorums. */
import { type Exploration, exploreSeeds } from '../common/explore.js';
import { loadQuorum } from './library.js';
import { quorumPlanOf } from './plan.js';
import { runQuorum } from './run.js';

const COUNTS = {
  grants: 'grants',
  restarts: 'restarts of servers',
  crashes: 'crashes of processes',
  steps: 'steps of a clock',
  events: 'events',
} as const;

export async function exploreQuorum(exploration: Exploration): Promise<boolean> {
  const library = await loadQuorum();
  return exploreSeeds((seed) => runQuorum(quorumPlanOf(seed), library), COUNTS, exploration);
}
