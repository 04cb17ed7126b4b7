/**
 * Groups of leases that are renewed together, each group with one command.
 *
 *     a new or renewed lease --join--> waiting --due--> (taken out, to be renewed)
 *     a command was sent --send--> sent --answered--> (each lease joins a group again)
 *                                    \--the first of its leases ends--> (taken out)
 *
 * A lease joins the latest group of its ttl, if that group is due at about the right time for it.
 * So leases that were granted or renewed at about the same time stay together, and a lease costs no
 * timer and no place in a heap. The jitter is that of the group.
 *
 * Only leases without a deadline or a warning before their renewal are in groups; see
 * `Watchdog.#settle`. A lease that is released leaves its group.
 */
import type { RandomSource } from '../base/random-source.js';
import { type Due, DueHeap } from './due-heap.js';
import type { Renewal, Root } from './root.js';

/** The maximum number of leases that are renewed with one command. */
export const GROUP_MAX = 500;
/** The part of a lease after which it is renewed; and with the whole jitter. */
const RENEW_AT = 0.5;
const RENEW_BY = 0.6;
/** Leases that are due within this part of their length are renewed together. */
export const GATHER: number = 1 / 16;

/** Leases of the same ttl with the same due time. */
export class RenewalGroup implements Due {
  readonly ttl: number;
  /** When the leases are to be renewed; of a sent group, when the first of them ends. */
  readonly due: number;
  /** True if a command for the leases is under way. */
  readonly sent: boolean;
  rank = -1;
  readonly renewals: Renewal[] = [];

  constructor(ttl: number, due: number, sent: boolean) {
    this.ttl = ttl;
    this.due = due;
    this.sent = sent;
  }

  add(renewal: Renewal): void {
    renewal.group = this;
    renewal.rank = this.renewals.length;
    this.renewals.push(renewal);
  }

  remove(renewal: Renewal): void {
    const last = this.renewals.pop() as Renewal;
    if (last !== renewal) {
      this.renewals[renewal.rank] = last;
      last.rank = renewal.rank;
    }
    renewal.group = undefined;
    renewal.rank = -1;
  }

  /** Removes all leases, and returns them. */
  clear(): Renewal[] {
    for (const renewal of this.renewals) {
      renewal.group = undefined;
      renewal.rank = -1;
    }
    return this.renewals.splice(0);
  }
}

/** A part of a lease, before which it is renewed, with jitter. */
export function renewalPart(randomSource: RandomSource): number {
  return RENEW_AT + (RENEW_BY - RENEW_AT) * randomSource.fraction();
}

export class RenewalGroups {
  readonly #heap = new DueHeap<RenewalGroup>();
  /** The group of each ttl that new leases join. */
  readonly #open = new Map<number, RenewalGroup>();
  readonly #randomSource: RandomSource;

  constructor(randomSource: RandomSource) {
    this.#randomSource = randomSource;
  }

  /** When the next group is due. */
  get due(): number {
    return this.#heap.first?.due ?? Number.POSITIVE_INFINITY;
  }

  /** Adds a lease that was granted or renewed. */
  join({ ttl, hold, renewal }: Root, now: number): void {
    const left = hold.validUntil - now;
    let group = this.#open.get(ttl);
    if (group === undefined || group.renewals.length >= GROUP_MAX || !suits(group, now, left)) {
      group = new RenewalGroup(ttl, now + renewalPart(this.#randomSource) * left, false);
      this.#open.set(ttl, group);
      this.#heap.put(group);
    }
    group.add(renewal);
  }

  /** Holds leases with a command under way. Their group is due when the first of them ends. */
  send(roots: readonly Root[], ttl: number): RenewalGroup {
    let due = Number.POSITIVE_INFINITY;
    for (const { hold } of roots) due = Math.min(due, hold.validUntil);
    const group = new RenewalGroup(ttl, due, true);
    for (const { renewal } of roots) group.add(renewal);
    this.#heap.put(group);
    return group;
  }

  /** The command of these leases was answered or has failed. Returns those that are still here. */
  answered(group: RenewalGroup): Renewal[] {
    this.#heap.remove(group);
    return group.clear();
  }

  /**
   * Removes the next due group, and returns its leases. A small group that is due soon goes with
   * the leases of its ttl that go anyway, if they fit into the same command.
   * @param going the number of leases with a ttl that are renewed now
   */
  take(now: number, going: (ttl: number) => number): Renewal[] | undefined {
    const { first } = this.#heap;
    if (first === undefined) return undefined;
    if (first.due > now) {
      const others = going(first.ttl) % GROUP_MAX;
      const fits = !first.sent && others > 0 && others + first.renewals.length <= GROUP_MAX;
      if (!fits || first.due - GATHER * first.ttl > now) return undefined;
    }
    this.#heap.remove(first);
    if (this.#open.get(first.ttl) === first) this.#open.delete(first.ttl);
    return first.clear();
  }
}

/** True if a lease that lasts for `left` from now may be renewed when the group is due. */
function suits({ due }: RenewalGroup, now: number, left: number): boolean {
  return due >= now + (RENEW_AT - GATHER) * left && due <= now + RENEW_BY * left;
}
