/** What went wrong in a trial: the first few of each kind, and how many there were. */

const SHOWN_MAX = 3;

export class Problems {
  readonly #kinds = new Map<string, { count: number; shown: string[] }>();

  /** Notes something; `kind` is what the checks are counted by. */
  add(kind: string, what: string, times = 1): void {
    const known = this.#kinds.get(kind) ?? { count: 0, shown: [] };
    known.count += times;
    if (known.shown.length < SHOWN_MAX) known.shown.push(what);
    this.#kinds.set(kind, known);
  }

  /** How many of a kind. */
  count(kind: string): number {
    return this.#kinds.get(kind)?.count ?? 0;
  }

  /** How many altogether. */
  get total(): number {
    return [...this.#kinds.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** The kinds that there were. */
  get kinds(): string[] {
    return [...this.#kinds.keys()];
  }

  /** One line for each that is shown, the kind first. */
  list(): string[] {
    return [...this.#kinds].flatMap(([kind, { count, shown }]) =>
      shown.map((what, index) => `${kind} (${index + 1} of ${count}): ${what}`),
    );
  }
}
