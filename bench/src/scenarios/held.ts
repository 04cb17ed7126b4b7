/** Scenario g: many leases held, with their renewal. */
import type { Scenario } from './scenario.js';

/** Its measurement comes with the batched renewals. */
export const g: Scenario = async () => {
  console.log('\ng: not measured yet');
};
