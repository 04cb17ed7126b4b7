/** The leases that the watchdog renews in one turn, as batches of one command each. */
import { type LeaseRecord, withDrift } from './lease-record.js';
import { GROUP_MAX } from './renewal-groups.js';

/** The maximum number of leases in a batch after a failure: an error may affect the whole batch. */
const FAILING_MAX = 100;
/** A lease with less than this part of its ttl left does not wait in a group. */
const SHORT = 0.5;

/**
 * True if a lease needs nothing but renewals: it has no callback, no end by `maxHold`, and is
 * certainly held for about its ttl.
 */
export function isUsual(record: LeaseRecord, now: number): boolean {
  const { terms, validUntil } = record;
  const { ttl, onExpiring, maxHold } = terms;
  if (!terms.renew || onExpiring !== undefined || maxHold !== Infinity) return false;
  if (record.doubted || record.ending || record.renewing) return false;
  return validUntil - now >= SHORT * ttl && validUntil - now <= ttl;
}

/** How many leases may be renewed in one turn of the event loop, so that it is not blocked. */
const TURN_MAX = 2000;

export class Renewals {
  readonly #now: number;
  readonly #usual = new Map<number, LeaseRecord[]>();
  /** Leases that cannot be renewed with others. */
  readonly #alone: LeaseRecord[] = [];
  /** By ttl. */
  readonly #failing = new Map<number, LeaseRecord[]>();
  #size = 0;

  constructor(now: number) {
    this.#now = now;
  }

  get full(): boolean {
    return this.#size >= TURN_MAX;
  }

  /** The number of leases with a ttl that are renewed together. */
  of(ttl: number): number {
    return this.#usual.get(ttl)?.length ?? 0;
  }

  add(record: LeaseRecord): void {
    record.renewing = true;
    this.#size += 1;
    const { terms, holdUntil, failure, doubted } = record;
    // `maxHold` may end it before its ttl
    const whole = holdUntil === Infinity || withDrift(holdUntil - this.#now) >= terms.ttl;
    if (doubted || !whole) {
      this.#alone.push(record);
      return;
    }
    const lists = failure === undefined ? this.#usual : this.#failing;
    const list = lists.get(terms.ttl);
    if (list === undefined) lists.set(terms.ttl, [record]);
    else list.push(record);
  }

  /** @param shardOf see `Store.shardOf` */
  *batches(shardOf: ShardOf | undefined): Iterable<readonly LeaseRecord[]> {
    for (const record of this.#alone) yield [record];
    for (const [lists, most] of [
      [this.#usual, GROUP_MAX],
      [this.#failing, FAILING_MAX],
    ] as const) {
      for (const list of lists.values()) {
        for (const part of apart(list, shardOf)) yield* chunks(part, most);
      }
    }
  }
}

type ShardOf = (key: string) => string;

/** The leases of each part of the store. */
function apart(
  list: readonly LeaseRecord[],
  shardOf: ShardOf | undefined,
): Iterable<readonly LeaseRecord[]> {
  if (shardOf === undefined) return [list];
  const parts = new Map<string, LeaseRecord[]>();
  for (const record of list) {
    const shard = shardOf(record.key);
    const part = parts.get(shard);
    if (part === undefined) parts.set(shard, [record]);
    else part.push(record);
  }
  return parts.values();
}

function* chunks(list: readonly LeaseRecord[], most: number): Iterable<readonly LeaseRecord[]> {
  if (list.length <= most) yield list;
  else for (let from = 0; from < list.length; from += most) yield list.slice(from, from + most);
}
