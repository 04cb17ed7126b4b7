/**
 * A heap of entries, ordered by `due`. Each stores its index, so that it can be removed from any
 * place.
 */

export interface Due {
  readonly due: number;
  /** The index; -1 outside. Only the heap writes it. */
  rank: number;
}

export class DueHeap<E extends Due> {
  readonly #entries: E[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): E | undefined {
    return this.#entries[0];
  }

  /** Also moves an entry after its `due` has changed. */
  put(entry: E): void {
    if (entry.rank < 0) {
      entry.rank = this.#entries.length;
      this.#entries.push(entry);
    }
    this.#up(entry.rank);
    this.#down(entry.rank);
  }

  remove(entry: E): void {
    const { rank } = entry;
    if (rank < 0) return;
    const last = this.#entries.pop() as E;
    entry.rank = -1;
    if (last === entry) return;
    this.#place(last, rank);
    this.#up(rank);
    this.#down(last.rank);
  }

  #up(from: number): void {
    let rank = from;
    while (rank > 0) {
      const parent = (rank - 1) >> 1;
      if (this.#at(parent).due <= this.#at(rank).due) return;
      this.#swap(rank, parent);
      rank = parent;
    }
  }

  #down(from: number): void {
    let rank = from;
    for (;;) {
      let least = rank;
      for (const child of [2 * rank + 1, 2 * rank + 2]) {
        if (child < this.#entries.length && this.#at(child).due < this.#at(least).due)
          least = child;
      }
      if (least === rank) return;
      this.#swap(rank, least);
      rank = least;
    }
  }

  #at(rank: number): E {
    return this.#entries[rank] as E;
  }

  #place(entry: E, rank: number): void {
    this.#entries[rank] = entry;
    entry.rank = rank;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#at(a), this.#at(b)];
    this.#place(first, b);
    this.#place(second, a);
  }
}
