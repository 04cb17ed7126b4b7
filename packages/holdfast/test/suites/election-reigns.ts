/** What the tests of elections share. */

/** No lease ends by itself, and nobody looks after a queue, within a test. */
export const PATIENT = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

/** Who leads, as those see it who do: whether there are two at once, and whether terms grow. */
export class Reigns {
  readonly terms: number[] = [];
  most = 0;
  #leading = 0;

  async reign(term: number, end: Promise<unknown>): Promise<void> {
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
