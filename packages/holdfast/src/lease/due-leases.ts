/**
 * The leases of the watchdog by the time at which it must act on them, with one timer.
 *
 * A lease is due when it should be renewed, when its holder should be warned, and when it ends on
 * the local clock. A usual lease needs only renewals: it waits in a group, see `renewal-groups.ts`.
 * The others are in a heap: leases with `maxHold`, with a callback, with little time left, after a
 * failed renewal, or in doubt.
 */
import type { Clock, Timer } from '../clock.js';
import type { RandomSource } from '../random-source.js';
import { DueHeap } from './due-heap.js';
import { RETRY_MS_MIN } from './inquiries.js';
import type { LeaseRecord } from './lease-record.js';
import { RenewalGroups, renewalPart } from './renewal-groups.js';
import { isUsual, type Renewals } from './renewals.js';
import { warnAt } from './warning.js';

/** The longest time between two requests for a lease in doubt. */
const DOUBT_MS_MAX = 500;
const NEVER = Number.POSITIVE_INFINITY;

export class DueLeases {
  readonly #heap = new DueHeap<LeaseRecord>();
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
  get first(): LeaseRecord | undefined {
    return this.#heap.first;
  }

  /** Plans the renewal of a lease that was granted, renewed or found. */
  settle(record: LeaseRecord, now: number): void {
    if (!record.watched) return;
    if (isUsual(record, now)) {
      this.remove(record);
      this.#groups.join(record, now);
      this.arm();
      return;
    }
    // jitter, so that processes that started together do not keep renewing at the same time
    const interval = (record.validUntil - now) * renewalPart(this.#randomSource);
    record.renewAt = record.renews ? now + interval : NEVER;
    this.plan(record);
  }

  /** The same after its terms have changed, also for a lease in a group. */
  replan(record: LeaseRecord, now: number): void {
    this.remove(record);
    this.settle(record, now);
  }

  /** Plans the next request for a lease after a request without a decision. */
  retry(record: LeaseRecord): void {
    const now = this.#clock.now();
    const left = record.validUntil - now;
    const pause = Math.max(RETRY_MS_MIN, Math.min(left, record.terms.ttl) / 10);
    record.renewAt = now + (record.doubted ? Math.min(pause, DOUBT_MS_MAX) : pause);
    this.plan(record);
  }

  /** Moves a lease to its place in the heap, also from its group. */
  plan(record: LeaseRecord): void {
    if (!record.watched) return;
    if (record.group !== undefined) {
      record.renewAt = record.group.due;
      record.group.remove(record);
    }
    const { ending, warned, renewing, terms, validUntil } = record;
    const end = ending ? NEVER : validUntil;
    const warning = warned || !terms.onExpiring ? end : warnAt(record);
    record.due = Math.min(end, warning, renewing ? NEVER : record.renewAt);
    this.#heap.put(record);
    this.arm();
  }

  /** The next lease of a root takes the place of the one before it. */
  succeed(before: LeaseRecord, next: LeaseRecord): void {
    const { group } = before;
    this.remove(before);
    before.watched = false;
    next.watched = true;
    if (group?.sent === false) next.renewAt = group.due;
    if (group?.sent === false && isUsual(next, this.#clock.now())) group.add(next);
    else this.plan(next);
  }

  remove(record: LeaseRecord): void {
    if (record.group === undefined) this.#heap.remove(record);
    else record.group.remove(record);
  }

  /**
   * Watches leases that are renewed with one command: they are due when the first of them ends.
   * Call the returned function when the command was answered or has failed.
   */
  sent(records: readonly LeaseRecord[], ttl: number): () => void {
    for (const record of records) this.remove(record);
    const group = this.#groups.send(records, ttl);
    this.arm();
    return () => this.#groups.answered(group);
  }

  /** Takes the leases of due groups that can be renewed, and moves the others to the heap. */
  takeGroups(now: number, renewals: Renewals): void {
    while (!renewals.full) {
      const { due } = this.#groups;
      const records = this.#groups.take(now, (ttl) => renewals.of(ttl));
      if (records === undefined) return;
      for (const record of records) {
        record.renewAt = Math.min(now, due);
        if (record.renewing || now >= record.validUntil) this.plan(record);
        else renewals.add(record);
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
