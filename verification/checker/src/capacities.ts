/**
 * The capacities that a key may have had at a time, when its capacity changes.
 *
 * A change takes effect between its call and its reply, or not at all. It stays in effect until
 * another change is called after this reply and is accepted.
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

/** Number of changes of a key that are remembered. */
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

  /** The greatest capacity by a change between two positions; 0 without a change. */
  most(key: string, from: number, to: number): number {
    const changes = this.#keys.get(key) ?? [];
    const isReplaced = (change: Change): boolean =>
      changes.some((each) => each.accepted && each.from > change.to && each.to < from);
    let most = 0;
    for (const change of changes) {
      if (change.from <= to && change.capacity > most && !isReplaced(change))
        most = change.capacity;
    }
    return most;
  }
}
