/**
 * A heap of the lease records of the watchdog, ordered by `due`. Each record stores its index, so
 * that it can be removed from any place.
 */
import type { LeaseRecord } from './lease-record.js';

export class DueHeap {
  readonly #records: LeaseRecord[] = [];

  get size(): number {
    return this.#records.length;
  }

  get first(): LeaseRecord | undefined {
    return this.#records[0];
  }

  /** Inserts a record, or moves it after its `due` has changed. */
  put(record: LeaseRecord): void {
    if (record.rank < 0) {
      record.rank = this.#records.length;
      this.#records.push(record);
    }
    this.#up(record.rank);
    this.#down(record.rank);
  }

  remove(record: LeaseRecord): void {
    const { rank } = record;
    if (rank < 0) return;
    const last = this.#records.pop() as LeaseRecord;
    record.rank = -1;
    if (last === record) return;
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
        if (child < this.#records.length && this.#at(child).due < this.#at(least).due)
          least = child;
      }
      if (least === rank) return;
      this.#swap(rank, least);
      rank = least;
    }
  }

  #at(rank: number): LeaseRecord {
    return this.#records[rank] as LeaseRecord;
  }

  #place(record: LeaseRecord, rank: number): void {
    this.#records[rank] = record;
    record.rank = rank;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#at(a), this.#at(b)];
    this.#place(first, b);
    this.#place(second, a);
  }
}
