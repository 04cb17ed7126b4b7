/**
 * The queues of one key in this process: one for each set of terms, and one for each group of fair
 * tasks. There may be thousands of fair groups, so nothing that an acquisition, a hand-off or an
 * abort does loops over them. An empty queue may stay for the next acquisition.
 */
import type { ResolvedAcquireOptions } from '../base/options.js';
import type { Acquisition } from './acquisition.js';
import type { RootQueue } from './root-queue.js';

export class KeyQueue {
  /** The number of tasks that wait in all of its queues. */
  tasks = 0;
  /** Those of tasks that may be overtaken. */
  readonly #shared: RootQueue[] = [];
  /** In the order in which they began. */
  #fair: Set<RootQueue> | undefined;
  /** The fair group that began last. */
  #last: RootQueue | undefined;
  /** The fair group whose entry is directly behind another one, by the id of that one. */
  #behind: Map<string, RootQueue> | undefined;

  get size(): number {
    return this.#shared.length + this.fair;
  }

  /** The number of fair groups. */
  get fair(): number {
    return this.#fair?.size ?? 0;
  }

  /** All queues; the fair ones in the order in which they began. */
  *all(): Iterable<RootQueue> {
    yield* this.#shared;
    if (this.#fair !== undefined) yield* this.#fair;
  }

  /** True if nothing of this process waits for the key or holds it. */
  get idle(): boolean {
    return this.fair === 0 && this.#shared.every(({ empty }) => empty);
  }

  add(queue: RootQueue): void {
    if (!queue.fair) return void this.#shared.push(queue);
    this.#fair ??= new Set();
    this.#fair.add(queue);
    this.#last = queue;
  }

  /** False if it was removed before. */
  remove(queue: RootQueue): boolean {
    if (queue.fair) {
      if (this.#last === queue) this.#last = undefined;
      return this.#fair?.delete(queue) === true;
    }
    const place = this.#shared.indexOf(queue);
    if (place >= 0) this.#shared.splice(place, 1);
    return place >= 0;
  }

  /**
   * The queue that a task with these terms joins. The order in the store is that of the calls: a
   * fair task joins the last group, or none.
   * @param most the largest number of tasks that a group has before another one joins
   */
  find(terms: ResolvedAcquireOptions, most: number): RootQueue | undefined {
    if (!terms.fair) {
      for (const queue of this.#shared) if (queue.suits(terms)) return queue;
      return undefined;
    }
    const last = this.#last;
    const joins = last?.open === true && last.suits(terms) && last.size <= most;
    return joins ? last : undefined;
  }

  /** The entry of a fair group is directly behind another one in the queue of the store. */
  stands(queue: RootQueue, { ahead }: Acquisition): void {
    if (!queue.fair || ahead === '') return;
    this.#behind ??= new Map();
    this.#behind.set(ahead, queue);
  }

  /** An entry has ended: it is behind no other one any more. */
  gone(queue: RootQueue, { ahead }: Acquisition): void {
    if (this.#behind?.get(ahead) === queue) this.#behind.delete(ahead);
  }

  /** The fair group whose entry is directly behind an id. */
  behind(id: string): RootQueue | undefined {
    return this.#behind?.get(id);
  }
}
