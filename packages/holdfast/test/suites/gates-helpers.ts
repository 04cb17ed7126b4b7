/** Helpers of the gate tests. */
import { until } from 'holdfast-testkit';
import type { Barrier } from '../../src/index.js';

/** No waiter polls within a test, so each message arrives by push. */
export const NO_POLL = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

/** Waits until `parties` parties wait at a barrier. */
export async function waiting(barrier: Barrier, parties: number): Promise<void> {
  await until(async () => (await barrier.waiting()) === parties, { what: `${parties} wait` });
}

/** The largest distance between the phases of parties that work at the same time. */
export class Phases {
  most = 0;
  readonly #phases: number[];

  constructor(parties: number) {
    this.#phases = Array.from({ length: parties }, () => 0);
  }

  /** Called when a party begins its next phase. */
  next(party: number): void {
    this.#phases[party] = (this.#phases[party] as number) + 1;
    this.most = Math.max(this.most, Math.max(...this.#phases) - Math.min(...this.#phases));
  }
}
