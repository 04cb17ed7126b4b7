/** A heap of entries, ordered by `due`. */

export interface Due {
  readonly due: number;
  /** The index, for the removal; -1 outside. Only the heap writes it. */
  rank: number;
}

export class DueHeap<E extends Due> {
  readonly #entries: E[] = [];
  /** Only this class writes it. */
  first: E | undefined;

  get size(): number {
    return this.#entries.length;
  }

  /** Also moves an entry after its `due` has changed. */
  put(entry: E): void {
    if (entry.rank < 0) entry.rank = this.#entries.push(entry) - 1;
    this.#place(entry);
  }

  remove(entry: E): void {
    if (entry.rank < 0) return;
    const last = this.#entries.pop() as E;
    if (last !== entry) {
      last.rank = entry.rank;
      this.#place(last);
    }
    entry.rank = -1;
    this.first = this.#entries[0];
  }

  #place(entry: E): void {
    const entries = this.#entries;
    let { rank } = entry;
    while (rank > 0) {
      const above = (rank - 1) >> 1;
      const parent = entries[above] as E;
      if (parent.due <= entry.due) break;
      entries[rank] = parent;
      parent.rank = rank;
      rank = above;
    }
    for (;;) {
      const below = 2 * rank + 1;
      const [left, right] = [entries[below], entries[below + 1]];
      const least = right !== undefined && right.due < (left as E).due ? right : left;
      if (least === undefined || least.due >= entry.due) break;
      const free = least.rank;
      entries[rank] = least;
      least.rank = rank;
      rank = free;
    }
    entries[rank] = entry;
    entry.rank = rank;
    this.first = entries[0];
  }
}
