/** The problems of a trial: the first few of each kind, and their number. */

const SHOWN_MAX = 3;

export class Problems {
  readonly #kinds = new Map<string, { count: number; shown: string[] }>();

  /** Adds a problem; problems are counted by `kind`. */
  add(kind: string, what: string, times = 1): void {
    const known = this.#kinds.get(kind) ?? { count: 0, shown: [] };
    known.count += times;
    if (known.shown.length < SHOWN_MAX) known.shown.push(what);
    this.#kinds.set(kind, known);
  }

  /** The number of problems of a kind. */
  count(kind: string): number {
    return this.#kinds.get(kind)?.count ?? 0;
  }

  /** The number of all problems. */
  get total(): number {
    return [...this.#kinds.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** The kinds of the problems. */
  get kinds(): string[] {
    return [...this.#kinds.keys()];
  }

  /** One line for each problem shown, starting with its kind. */
  list(): string[] {
    return [...this.#kinds].flatMap(([kind, { count, shown }]) =>
      shown.map((what, index) => `${kind} (${index + 1} of ${count}): ${what}`),
    );
  }
}
