/** What the programs of one process hold: two holders of a key, and fences that go back. */
import type { Problems } from '../support/problems.js';

/** A lease, or the term of a leader. */
export interface Belief {
  readonly held: boolean;
  readonly fence: number;
}

export class Grants {
  readonly #problems: Problems;
  readonly #keys = new Map<string, { holder: Belief | undefined; fence: number }>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** A program begins to believe that it has the lock. */
  begin(key: string, belief: Belief): void {
    const { fence } = belief;
    const known = this.#keys.get(key) ?? { holder: undefined, fence: 0 };
    if (known.holder?.held === true && belief.held) {
      this.#problems.add('two holders', `${key}: ${known.fence} and ${fence}`);
    }
    if (fence <= known.fence) this.#problems.add('fence', `${key}: ${fence} after ${known.fence}`);
    this.#keys.set(key, { holder: belief, fence: Math.max(fence, known.fence) });
  }

  /** Call it before the release. */
  end(key: string, belief: Belief): void {
    const known = this.#keys.get(key);
    if (known?.holder === belief) known.holder = undefined;
  }
}
