/**
 * The grips of a keeper, the one that is due first on top. Each knows its place, so that it can
 * leave from anywhere.
 */
import type { Grip } from './grip.js';

export class DueHeap {
  readonly #grips: Grip[] = [];

  get size(): number {
    return this.#grips.length;
  }

  get first(): Grip | undefined {
    return this.#grips[0];
  }

  /** Puts a grip where its `due` belongs, or moves it there. */
  put(grip: Grip): void {
    if (grip.rank < 0) {
      grip.rank = this.#grips.length;
      this.#grips.push(grip);
    }
    this.#up(grip.rank);
    this.#down(grip.rank);
  }

  remove(grip: Grip): void {
    const { rank } = grip;
    if (rank < 0) return;
    const last = this.#grips.pop() as Grip;
    grip.rank = -1;
    if (last === grip) return;
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
        if (child < this.#grips.length && this.#at(child).due < this.#at(least).due) least = child;
      }
      if (least === rank) return;
      this.#swap(rank, least);
      rank = least;
    }
  }

  #at(rank: number): Grip {
    return this.#grips[rank] as Grip;
  }

  #place(grip: Grip, rank: number): void {
    this.#grips[rank] = grip;
    grip.rank = rank;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#at(a), this.#at(b)];
    this.#place(first, b);
    this.#place(second, a);
  }
}
