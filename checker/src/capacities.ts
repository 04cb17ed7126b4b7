/**
 * How much a key had at some time, where its capacity is changed in use.
 *
 * A change takes effect between its call and its answer, or not at all. It is over when another one
 * was called after its answer, and carried out.
 */
import type { HistoryEvent } from './format.js';

interface Change {
  readonly p: string;
  readonly capacity: number;
  /** Positions in the history. */
  readonly from: number;
  to: number;
  accepted: boolean;
}

/** Changes of a key that are remembered. */
const CHANGES = 256;

export class Capacities {
  readonly #keys = new Map<string, Change[]>();

  see(event: HistoryEvent, at: number): void {
    if (event.e !== 'resize' && event.e !== 'resized') return;
    const { k, p, capacity } = event;
    const changes = this.#keys.get(k) ?? [];
    this.#keys.set(k, changes);
    if (event.e === 'resize') {
      if (changes.length >= CHANGES) changes.splice(0, CHANGES / 2);
      changes.push({ p, capacity, from: at, to: Number.POSITIVE_INFINITY, accepted: false });
      return;
    }
    const open = changes.find((each) => each.p === p && each.capacity === capacity && each.to > at);
    if (open === undefined) return;
    open.to = at;
    open.accepted = event.accepted;
  }

  /** The most that the key may have had between two positions, by changes; 0 without any. */
  most(key: string, from: number, to: number): number {
    const changes = this.#keys.get(key) ?? [];
    const isOver = (change: Change): boolean =>
      changes.some((each) => each.accepted && each.from > change.to && each.to < from);
    let most = 0;
    for (const change of changes) {
      if (change.from <= to && change.capacity > most && !isOver(change)) most = change.capacity;
    }
    return most;
  }
}
