/** A process of a plan in which all processes wait for few keys. */
import type { ProcessPlan } from './plan.js';

export function waitingProcess(
  name: string,
  machine: string,
  terms: {
    readonly ttl: number;
    readonly claimWindow: number;
    readonly requestTimeout: number;
  },
): ProcessPlan {
  return {
    ...{ name, machine, habits: { onLoss: 'rejects', queues: true } },
    options: {
      ...{ ...terms, unreachableAfter: 30_000, localHandOffs: 8, maxQueue: 10_000 },
      ...{ linger: 30_000, grace: 10_000, retention: 60_000 + 4 * terms.ttl },
    },
  };
}
