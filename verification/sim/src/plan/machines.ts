/** A machine of a plan: the errors of its clocks. */
import type { Random } from '../base/random.js';
import type { MachinePlan } from './plan.js';

/** The largest drift of a clock; two clocks differ by less than the library's margin of 1 %. */
const DRIFT = 0.0045;

export function machine(random: Random, name: string): MachinePlan {
  return {
    name,
    rate: 1 + random.between(-DRIFT, DRIFT),
    uptime: random.between(1000, 1e8),
    // its wall clock shows a time in 2026, wrong by some minutes
    wallApart: 1.79e12 + random.between(-3e5, 3e5),
  };
}
