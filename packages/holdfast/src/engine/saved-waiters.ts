/**
 * The queue of a resource as short lists, and back. Each change reads and stores it, and it may be
 * long. So names of fields are left out, common values are stored once, and nothing is spread.
 */
import type { Waiter } from './entries.js';
import { processOf, type Processes, type Times } from './processes.js';
import type { Resource } from './resource.js';

/** `isNamed`: the channel ends with the name of the process, which is left out here. */
type SavedTerms = readonly [
  ...[channel: string, isNamed: boolean, owner: string, weight: number, ttl: number],
  ...[claim: number, fair: boolean, handOffs: number, tasks: number, signalled: string],
];
/** Before and after the latest command of all. */
type SavedTimes = [heard: number, until: number, paused?: number];
/** `before`: the last ticket. `terms`, `meta`: places. Its process' first waiter has the times. */
type SavedWaiter = [
  ...[id: string, before: number, token: string, terms: number, meta: number],
  ...Partial<SavedTimes>,
];

export interface SavedQueue {
  readonly waiters: readonly SavedWaiter[];
  readonly terms: readonly SavedTerms[];
  readonly metas: readonly string[];
  readonly heard: number;
  /** Those whose waiters are all parked. */
  readonly processes: readonly [name: string, times: SavedTimes][];
}

export const NO_QUEUE: SavedQueue = {
  ...{ waiters: [], terms: [], metas: [], heard: 0, processes: [] },
};

class Places<T> {
  readonly values: T[] = [];
  readonly #places = new Map<string, number>();

  of(name: string, value: T): number {
    const place = this.#places.get(name) ?? this.values.push(value) - 1;
    this.#places.set(name, place);
    return place;
  }
}

class SavingTimes {
  readonly latest: number;
  readonly #all: Processes['all'];
  readonly #seen = new Set<string>();

  constructor(all: Processes['all']) {
    let latest = 0;
    for (const { heard } of all.values()) latest = Math.max(latest, heard);
    this.latest = latest;
    this.#all = all;
  }

  addTo(list: unknown[], name: string): boolean {
    const known = this.#all.get(name);
    if (known === undefined || this.#seen.has(name)) return false;
    if (known.waiters > 1) this.#seen.add(name);
    list.push(this.latest - known.heard, known.until - this.latest);
    if (known.paused !== 0) list.push(known.paused);
    return true;
  }
}

export function savedQueue({ waiters, lastTicket, parking, processes }: Resource): SavedQueue {
  const terms = new Places<SavedTerms>();
  const metas = new Places<string>();
  const times = new SavingTimes(processes.all);
  const saved: SavedWaiter[] = [];
  let last:
    | { readonly one: Waiter; readonly terms: SavedTerms; readonly place: number }
    | undefined;
  for (const one of waiters.values()) {
    const { id, ticket, token, meta } = one;
    const name = processOf(id);
    if (last === undefined || !isAlike(one, name, last.one, last.terms)) {
      const own = termsOf(one, name);
      last = { one, terms: own, place: terms.of(JSON.stringify(own), own) };
    }
    const waiter: SavedWaiter = [id, lastTicket - ticket, token, last.place, metas.of(meta, meta)];
    times.addTo(waiter, name);
    saved.push(waiter);
  }
  const parked: [string, SavedTimes][] = [];
  for (const { id } of parking.all()) {
    const [name, list] = [processOf(id), []];
    if (times.addTo(list, name)) parked.push([name, list as unknown as SavedTimes]);
  }
  const { latest: heard } = times;
  return { waiters: saved, terms: terms.values, metas: metas.values, heard, processes: parked };
}

function termsOf(one: Waiter, name: string): SavedTerms {
  const { channel, owner, weight, ttl, claim, fair, handOffs, tasks, signalled } = one;
  const isNamed = channel.endsWith(name);
  const head = isNamed ? channel.slice(0, channel.length - name.length) : channel;
  return [head, isNamed, owner, weight, ttl, claim, fair, handOffs, tasks, signalled];
}

/** Compares without making the terms of each waiter, which is slow. */
function isAlike(one: Waiter, name: string, other: Waiter, terms: SavedTerms): boolean {
  const [head, isNamed] = terms;
  const { channel } = one;
  return (
    (isNamed
      ? channel.length === head.length + name.length &&
        channel.startsWith(head) &&
        channel.endsWith(name)
      : channel === head && !channel.endsWith(name)) &&
    one.owner === other.owner &&
    one.weight === other.weight &&
    one.ttl === other.ttl &&
    one.claim === other.claim &&
    one.fair === other.fair &&
    one.handOffs === other.handOffs &&
    one.tasks === other.tasks &&
    one.signalled === other.signalled
  );
}

export function restoreWaiters(resource: Resource, saved: SavedQueue, lastTicket: number): void {
  const { heard } = saved;
  for (const [id, before, token, place, meta, ago, until, paused] of saved.waiters) {
    const terms = saved.terms[place] as SavedTerms;
    const waiter: Waiter = {
      id,
      token,
      channel: terms[1] ? terms[0] + processOf(id) : terms[0],
      ticket: lastTicket - before,
      owner: terms[2],
      weight: terms[3],
      ttl: terms[4],
      claim: terms[5],
      fair: terms[6],
      handOffs: terms[7],
      tasks: terms[8],
      signalled: terms[9],
      meta: saved.metas[meta] as string,
    };
    resource.place(waiter, ago === undefined ? undefined : timesOf(heard, ago, until, paused));
  }
}

/** Those of parked waiters; after all are restored. */
export function restoreTimes(resource: Resource, { processes, heard }: SavedQueue): void {
  for (const [name, times] of processes) {
    resource.processes.restore(name, timesOf(heard, ...times));
  }
}

function timesOf(heard: number, ago: number, until = 0, paused = 0): Times {
  return { heard: heard - ago, until: heard + until, paused };
}
