/** Helpers of the election tests. */

/** No lease expires and no waiter polls within a test. */
export const NO_POLL = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

/** Records from inside the terms whether two leaders overlap, and whether terms grow. */
export class TermWatch {
  readonly terms: number[] = [];
  most = 0;
  #leading = 0;

  async lead(term: number, end: Promise<unknown>): Promise<void> {
    this.terms.push(term);
    this.#leading += 1;
    this.most = Math.max(this.most, this.#leading);
    await end;
    this.#leading -= 1;
  }

  get ascending(): boolean {
    return this.terms.every((term, at) => at === 0 || term > (this.terms[at - 1] as number));
  }
}
