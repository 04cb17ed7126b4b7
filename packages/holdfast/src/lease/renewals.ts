/** The leases that the watchdog renews or verifies in one turn, as batches of one command each. */
import { withDrift } from './local-time.js';
import { GROUP_MAX } from './schedule.js';
import type { Root } from './root.js';

/** The maximum number of leases in a batch after a failure: an error may affect the whole batch. */
const FAILING_MAX = 100;

/** How many leases may be renewed in one turn of the event loop, so that it is not blocked. */
const TURN_MAX = 2000;

export class Renewals {
  readonly #now: number;
  readonly #usual = new Map<number, Root[]>();
  /** Leases that cannot be renewed with others. */
  readonly #alone: Root[] = [];
  /** Leases in doubt, which are verified. */
  readonly #doubted: Root[] = [];
  /** By ttl. */
  readonly #failing = new Map<number, Root[]>();
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

  add(root: Root): void {
    root.renewal.busy = true;
    this.#size += 1;
    const { ttl, hold, renewal, doubted } = root;
    if (doubted) {
      this.#doubted.push(root);
      return;
    }
    const { holdUntil } = hold;
    // `maxHold` may end it before its ttl
    const whole = holdUntil === Infinity || withDrift(holdUntil - this.#now) >= ttl;
    if (!whole) {
      this.#alone.push(root);
      return;
    }
    const lists = renewal.failure === undefined ? this.#usual : this.#failing;
    const list = lists.get(ttl);
    if (list === undefined) lists.set(ttl, [root]);
    else list.push(root);
  }

  /**
   * The leases of a batch are all in doubt, or have the same ttl.
   * @param shardOf see `Store.shardOf`
   */
  *batches(shardOf: ShardOf | undefined): Iterable<readonly Root[]> {
    for (const root of this.#alone) yield [root];
    for (const part of apart(this.#doubted, shardOf)) yield* chunks(part, GROUP_MAX);
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
function apart(list: readonly Root[], shardOf: ShardOf | undefined): Iterable<readonly Root[]> {
  if (shardOf === undefined) return [list];
  const parts = new Map<string, Root[]>();
  for (const root of list) {
    const shard = shardOf(root.key);
    const part = parts.get(shard);
    if (part === undefined) parts.set(shard, [root]);
    else part.push(root);
  }
  return parts.values();
}

function* chunks(list: readonly Root[], most: number): Iterable<readonly Root[]> {
  if (list.length === 0) return;
  if (list.length <= most) yield list;
  else for (let from = 0; from < list.length; from += most) yield list.slice(from, from + most);
}
