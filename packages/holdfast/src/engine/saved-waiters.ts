/**
 * The queue of a resource as short lists, and back. A queue may be long, and each change stores it,
 * so the names of fields are left out, and what many waiters have in common is stored once.
 */
import type { Waiter } from './entries.js';
import { processOf } from './processes.js';

/** `isNamed`: the channel ends with the name of the process, which is left out here. */
type SavedTerms = readonly [
  ...[channel: string, isNamed: boolean, owner: string, weight: number, ttl: number],
  ...[claim: number, fair: boolean, handOffs: number, tasks: number, signalled: string],
];
/** `before`: how long before the last ticket. The other numbers are places in the lists. */
type SavedWaiter = readonly [
  ...[id: string, before: number, token: string, terms: number, meta: number],
];

export interface SavedQueue {
  readonly waiters: readonly SavedWaiter[];
  readonly terms: readonly SavedTerms[];
  readonly metas: readonly string[];
}

/** Different values, in the order in which they came. */
class Places<T> {
  readonly values: T[] = [];
  readonly #places = new Map<string, number>();

  of(name: string, value: T): number {
    const place = this.#places.get(name) ?? this.values.push(value) - 1;
    this.#places.set(name, place);
    return place;
  }
}

export function savedQueue(queue: Iterable<Waiter>, lastTicket: number): SavedQueue {
  const terms = new Places<SavedTerms>();
  const metas = new Places<string>();
  const waiters: SavedWaiter[] = [];
  let last: { readonly saved: SavedTerms; readonly place: number } | undefined;
  for (const one of queue) {
    const saved = termsOf(one);
    if (last === undefined || !saved.every((field, at) => field === last?.saved[at])) {
      last = { saved, place: terms.of(JSON.stringify(saved), saved) };
    }
    const { id, ticket, token, meta } = one;
    waiters.push([id, lastTicket - ticket, token, last.place, metas.of(meta, meta)]);
  }
  return { waiters, terms: terms.values, metas: metas.values };
}

function termsOf({ id, channel, ...one }: Waiter): SavedTerms {
  const name = processOf(id);
  const isNamed = channel.endsWith(name);
  const head = isNamed ? channel.slice(0, channel.length - name.length) : channel;
  const { owner, weight, ttl, claim, fair, handOffs, tasks, signalled } = one;
  return [head, isNamed, owner, weight, ttl, claim, fair, handOffs, tasks, signalled];
}

export function restoredQueue({ waiters, terms, metas }: SavedQueue, lastTicket: number): Waiter[] {
  return waiters.map(([id, before, token, place, meta]) => {
    const [head, isNamed, ...rest] = terms[place] as SavedTerms;
    const [owner, weight, ttl, claim, fair, handOffs, tasks, signalled] = rest;
    return {
      ...{ id, token, owner, weight, ttl, claim, fair, handOffs, tasks, signalled },
      channel: isNamed ? head + processOf(id) : head,
      ticket: lastTicket - before,
      meta: metas[meta] as string,
    };
  });
}
