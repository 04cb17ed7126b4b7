/**
 * When the watchdog must act on each lease, with one timer; and on which leases together ([decision
 * 12](../../../../docs/decisions/0012-batched-renewal.md)).
 *
 * A lease is due when it should be renewed, when its holder should be warned, and when it ends on
 * the local clock. A usual lease needs only renewals, and waits in a group, which is renewed with
 * one command. The others are in a heap: those with `maxHold`, with a callback, with little time
 * left, after a failed renewal, or in doubt.
 *
 *     a new or renewed lease --settle--> waiting --due--> (taken out, to be renewed)
 *     a command was sent --sent--> sent --answered--> (each lease joins a group again)
 *                                    \--the first of its leases ends--> (taken out)
 *
 * A lease joins the latest group of its ttl, if that is due at about the right time.
 */
import type { Clock, Timer } from '../base/clock.js';
import type { RandomSource } from '../base/random-source.js';
import { type Due, DueHeap } from './due-heap.js';
import { RETRY_MS_MIN } from './inquiries.js';
import { withDrift } from './local-time.js';
import type { Renewal, Root } from './root.js';
import { warnAt } from './warning.js';

const GROUP_MAX = 500;
/** Leases of a batch after a failure: an error may affect all of it. */
const FAILING_MAX = 100;
/** Leases of one turn of the event loop, so that it is not blocked. */
const TURN_MAX = 2000;
/** Leases that are due within this part of their length are renewed together. */
export const GATHER: number = 1 / 16;
/** The part of a lease after which it is renewed; and with the whole jitter. */
const RENEW_AT = 0.5;
const RENEW_BY = 0.6;
/** A lease with less of its ttl left does not wait in a group. */
const SHORT = 0.5;
const DOUBT_MS_MAX = 500;
const NEVER = Number.POSITIVE_INFINITY;

export class RenewalGroup implements Due {
  readonly ttl: number;
  /** When they are to be renewed; of a sent group, when the first one ends. */
  readonly due: number;
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

  clear(): Renewal[] {
    for (const renewal of this.renewals) {
      renewal.group = undefined;
      renewal.rank = -1;
    }
    return this.renewals.splice(0);
  }
}

export function requestAt(root: Root): number {
  const { renewal } = root;
  return !renewal.busy && (root.renews || root.doubted) ? renewal.at : NEVER;
}

function isUsual({ ttl, hold, renewal, doubted, storeUntil }: Root, now: number): boolean {
  const { renewed, terms } = hold;
  if (!renewed || terms.onExpiring !== undefined || terms.maxHold !== Infinity) return false;
  if (doubted || renewal.ending || renewal.busy) return false;
  return storeUntil - now >= SHORT * ttl && storeUntil - now <= ttl;
}

export class Schedule {
  readonly #heap = new DueHeap<Renewal>();
  readonly #groups = new DueHeap<RenewalGroup>();
  readonly #open = new Map<number, RenewalGroup>();
  readonly #clock: Clock;
  readonly #randomSource: RandomSource;
  readonly #fired: () => void;
  #timer: Timer | undefined;
  #timerDue = NEVER;

  constructor(clock: Clock, randomSource: RandomSource, look: () => void) {
    this.#clock = clock;
    this.#randomSource = randomSource;
    this.#fired = () => {
      this.#timerDue = NEVER;
      look();
    };
  }

  get first(): Root | undefined {
    return this.#heap.first?.root;
  }

  settle(root: Root, now: number): void {
    const { renewal } = root;
    if (!renewal.watched) return;
    if (isUsual(root, now)) {
      if (renewal.rank >= 0) this.remove(root);
      this.#join(root, now);
      return;
    }
    // jitter: processes that started together do not keep renewing at the same time
    renewal.at = now + this.#pause(root.hold.validUntil - now);
    this.plan(root);
  }

  retry(root: Root): void {
    const now = this.#clock.now();
    const left = root.hold.validUntil - now;
    const pause = Math.max(RETRY_MS_MIN, Math.min(left, root.ttl) / 10);
    root.renewal.at = now + (root.doubted ? Math.min(pause, DOUBT_MS_MAX) : pause);
    this.plan(root);
  }

  /**
   * Moves a lease to its place in the heap, also from its group. Only this and `settle` read what
   * its hold asks for.
   */
  plan(root: Root): void {
    const { hold, renewal } = root;
    if (!renewal.watched) return;
    if (renewal.group !== undefined) {
      renewal.at = renewal.group.due;
      renewal.group.remove(renewal);
    }
    const { validUntil } = hold;
    const end = renewal.ending ? NEVER : validUntil;
    const warning = hold.warned || !hold.terms.onExpiring ? end : warnAt(hold);
    renewal.due = Math.min(end, warning, requestAt(root));
    this.#heap.put(renewal);
    this.arm();
  }

  passed(root: Root, now: number): void {
    const { group } = root.renewal;
    if (group?.sent === false && isUsual(root, now)) return;
    this.plan(root);
  }

  remove({ renewal }: Root): void {
    if (renewal.group === undefined) this.#heap.remove(renewal);
    else renewal.group.remove(renewal);
  }

  /** Call the returned function when the command was answered or has failed. */
  sent(roots: readonly Root[], ttl: number): () => void {
    let due = NEVER;
    for (const root of roots) {
      this.remove(root);
      due = Math.min(due, root.hold.validUntil);
    }
    const group = new RenewalGroup(ttl, due, true);
    for (const { renewal } of roots) group.add(renewal);
    this.#groups.put(group);
    this.arm();
    return () => {
      this.#groups.remove(group);
      group.clear();
    };
  }

  /** Takes the leases of due groups that can be renewed; moves the others to the heap. */
  takeGroups(now: number, renewals: Renewals): void {
    while (!renewals.full) {
      const group = this.#groups.first;
      if (group === undefined || !isDue(group, now, renewals)) return;
      this.#groups.remove(group);
      if (this.#open.get(group.ttl) === group) this.#open.delete(group.ttl);
      for (const renewal of group.clear()) {
        const { root } = renewal;
        renewal.at = Math.min(now, group.due);
        if (renewal.busy || !root.renews || now >= root.hold.validUntil) this.plan(root);
        else renewals.add(root);
      }
    }
  }

  #join({ ttl, renewal, storeUntil }: Root, now: number): void {
    const left = storeUntil - now;
    let group = this.#open.get(ttl);
    if (group === undefined || group.renewals.length >= GROUP_MAX || !suits(group, now, left)) {
      group = new RenewalGroup(ttl, now + this.#pause(left), false);
      this.#open.set(ttl, group);
      this.#groups.put(group);
      this.arm();
    }
    group.add(renewal);
  }

  #pause(left: number): number {
    return left * (RENEW_AT + (RENEW_BY - RENEW_AT) * this.#randomSource.fraction());
  }

  arm(): void {
    const due = Math.min(this.#heap.first?.due ?? NEVER, this.#groups.first?.due ?? NEVER);
    if (due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.now(), this.#fired, true);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timerDue = NEVER;
  }
}

/** A small group that is due soon goes with leases of its ttl, if they fit into one command. */
function isDue(
  { due, ttl, sent, renewals: own }: RenewalGroup,
  now: number,
  going: Renewals,
): boolean {
  if (due <= now) return true;
  const others = going.of(ttl) % GROUP_MAX;
  const fits = !sent && others > 0 && others + own.length <= GROUP_MAX;
  return fits && due - GATHER * ttl <= now;
}

function suits({ due }: RenewalGroup, now: number, left: number): boolean {
  return due >= now + (RENEW_AT - GATHER) * left && due <= now + RENEW_BY * left;
}

/** The leases of one turn, as batches of one command each. */
export class Renewals {
  /** The leases of a batch are all in doubt, or have the same ttl. */
  readonly batches: Root[][] = [];
  readonly #now: number;
  readonly #shardOf: ((key: string) => string) | undefined;
  readonly #open = new Map<string, Root[]>();
  readonly #counts = new Map<number, number>();
  #size = 0;
  /** No further lease should be added in this turn. Only this class writes it. */
  full = false;

  constructor(now: number, shardOf: ((key: string) => string) | undefined) {
    this.#now = now;
    this.#shardOf = shardOf;
  }

  of(ttl: number): number {
    return this.#counts.get(ttl) ?? 0;
  }

  add(root: Root): void {
    const { key, ttl, hold, renewal, doubted } = root;
    renewal.busy = true;
    this.#size += 1;
    this.full = this.#size >= TURN_MAX;
    const whole = hold.holdUntil === Infinity || withDrift(hold.holdUntil - this.#now) >= ttl;
    if (!doubted && !whole) return void this.batches.push([root]);
    const failing = !doubted && renewal.failure !== undefined;
    const most = failing ? FAILING_MAX : GROUP_MAX;
    const kind = `${doubted ? '' : ttl} ${failing} ${this.#shardOf?.(key) ?? ''}`;
    const batch = this.#open.get(kind);
    if (batch !== undefined && batch.length < most) {
      batch.push(root);
    } else {
      const begun = [root];
      this.#open.set(kind, begun);
      this.batches.push(begun);
    }
    if (!doubted && !failing) this.#counts.set(ttl, (this.#counts.get(ttl) ?? 0) + 1);
  }
}
