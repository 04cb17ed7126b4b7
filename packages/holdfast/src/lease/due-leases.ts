/**
 * The leases of the watchdog by the time at which it must act on them, with one timer.
 *
 * A lease is due when it should be renewed, when its holder should be warned, and when it ends on
 * the local clock. A usual lease needs only renewals: it waits in a group, see `renewal-groups.ts`.
 * The others are in a heap: leases with `maxHold`, with a callback, with little time left, after a
 * failed renewal, or in doubt.
 */
import type { Clock, Timer } from '../base/clock.js';
import type { RandomSource } from '../base/random-source.js';
import { DueHeap } from './due-heap.js';
import { RETRY_MS_MIN } from './inquiries.js';
import { RenewalGroups, renewalPart } from './renewal-groups.js';
import type { Renewal, Root } from './root.js';
import { isUsual, type Renewals } from './renewals.js';
import { warnAt } from './warning.js';

/** The longest time between two requests for a lease in doubt. */
const DOUBT_MS_MAX = 500;
const NEVER = Number.POSITIVE_INFINITY;

/** When a request about a root is due: a renewal, or a question if it is in doubt. */
export function requestAt({ renewal, renews, doubted }: Root): number {
  return !renewal.busy && (renews || doubted) ? renewal.at : NEVER;
}

export class DueLeases {
  readonly #heap = new DueHeap<Renewal>();
  readonly #groups: RenewalGroups;
  readonly #clock: Clock;
  readonly #randomSource: RandomSource;
  readonly #look: () => void;
  #timer: Timer | undefined;
  #timerDue = NEVER;

  /** @param look called when a lease is due; it then calls `arm` */
  constructor(clock: Clock, randomSource: RandomSource, look: () => void) {
    this.#clock = clock;
    this.#randomSource = randomSource;
    this.#groups = new RenewalGroups(randomSource);
    this.#look = look;
  }

  /** The lease of the heap that is due first. */
  get first(): Root | undefined {
    return this.#heap.first?.root;
  }

  /** Plans the renewal of a lease that was granted, renewed or found. */
  settle(root: Root, now: number): void {
    const { renewal } = root;
    if (!renewal.watched) return;
    if (isUsual(root, now)) {
      if (renewal.rank >= 0) this.remove(root);
      this.#groups.join(root, now);
      this.arm();
      return;
    }
    // jitter, so that processes that started together do not keep renewing at the same time
    renewal.at = now + (root.hold.validUntil - now) * renewalPart(this.#randomSource);
    this.plan(root);
  }

  /** Plans the next request for a lease after a request without a decision. */
  retry(root: Root): void {
    const now = this.#clock.now();
    const left = root.hold.validUntil - now;
    const pause = Math.max(RETRY_MS_MIN, Math.min(left, root.ttl) / 10);
    root.renewal.at = now + (root.doubted ? Math.min(pause, DOUBT_MS_MAX) : pause);
    this.plan(root);
  }

  /**
   * Moves a lease to its place in the heap, also from its group. What its hold asks for is read
   * here and in `settle` only, so the hold may change without a trace.
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

  /** Another task has the root: renewals of the root go on. */
  passed(root: Root): void {
    const { group } = root.renewal;
    // a lease in a group stays there if its hold needs nothing but renewals
    if (group?.sent === false && isUsual(root, this.#clock.now())) return;
    this.plan(root);
  }

  remove({ renewal }: Root): void {
    if (renewal.group === undefined) this.#heap.remove(renewal);
    else renewal.group.remove(renewal);
  }

  /**
   * Watches leases that are renewed with one command: they are due when the first of them ends.
   * Call the returned function when the command was answered or has failed.
   */
  sent(roots: readonly Root[], ttl: number): () => void {
    for (const root of roots) this.remove(root);
    const group = this.#groups.send(roots, ttl);
    this.arm();
    return () => this.#groups.answered(group);
  }

  /** Takes the leases of due groups that can be renewed, and moves the others to the heap. */
  takeGroups(now: number, renewals: Renewals): void {
    while (!renewals.full) {
      const { due } = this.#groups;
      const taken = this.#groups.take(now, (ttl) => renewals.of(ttl));
      if (taken === undefined) return;
      for (const renewal of taken) {
        const { root } = renewal;
        renewal.at = Math.min(now, due);
        if (renewal.busy || !root.renews || now >= root.hold.validUntil) this.plan(root);
        else renewals.add(root);
      }
    }
  }

  /** Sets the timer for the next due lease. */
  arm(): void {
    const due = Math.min(this.#heap.first?.due ?? NEVER, this.#groups.due);
    if (due >= this.#timerDue) return;
    this.disarm();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.now(), this.#look, true);
  }

  disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = NEVER;
  }
}
