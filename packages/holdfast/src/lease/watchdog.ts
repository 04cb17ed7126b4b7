/**
 * The keeper: the one thing in a process that looks after all leases of a store.
 *
 * It has one timer, for the lease that is due first. A lease is due when it should be renewed (at
 * about a third of its length, with jitter), when its holder should be warned, and when it ends on
 * our clock. All that is due is renewed in one batch; each answer stands for itself.
 *
 * An answer is one of three: renewed (`validUntil` moves, counted from before the request was
 * sent), absent (the lease is lost, and its signal aborts now), or none (unknown: the lease stays
 * as it is, and is tried again until it ends). The keeper never keeps a process alive.
 *
 * When the machine slept, leases are doubted (not held, not lost): the store is asked until it
 * answers, or they end. A deadline that passed is judged after one phase of reading where the
 * answer to a renewal may have arrived; the lease is not believed meanwhile.
 */
import type { RandomSource } from '../random-source.js';
import { afterIo, type Clock, type Timer } from '../clock.js';
import type { RenewReply } from '../engine/commands.js';
import type { Settings } from '../options.js';
import type { Requests } from '../store/requests.js';
import { Decisions } from './decisions.js';
import { drift, type LeaseRecord } from './lease-record.js';
import { DueHeap } from './due-heap.js';
import { Inquiries, RETRY_MS_MIN } from './inquiries.js';
import { Owned } from './owned.js';
import type { SuspendDetector } from './suspend-detector.js';
import { leftAt, warn, warnAt } from './warning.js';

/** Leases go with those that are due for renewal this part of their length early. */
const GATHER = 0.05;
/** Longest time between two questions for a lease in doubt. */
const DOUBT_MS_MAX = 500;
/** A lease that was granted with less than this part of its length is extended at once. */
const CLAIM_BELOW = 0.5;

export class Watchdog {
  readonly #inquiries: Inquiries;
  readonly #clock: Clock;
  readonly #suspend: SuspendDetector;
  readonly #randomSource: RandomSource;
  readonly #heap = new DueHeap();
  readonly #records = new Map<string, LeaseRecord>();
  readonly owned: Owned = new Owned();
  #timer: Timer | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #suspends: number;
  #emptied: (() => void)[] = [];
  readonly #decisions = new Decisions();

  constructor(requests: Requests, suspend: SuspendDetector, settings: Settings) {
    const { randomSource, clock, retention } = settings;
    this.#clock = clock;
    this.#randomSource = randomSource;
    this.#suspend = suspend;
    this.#suspends = suspend.count;
    this.#inquiries = new Inquiries(requests, suspend, retention, {
      noticeSleep: () => this.#noticeSuspend(),
      confirmed: (record) => this.#confirmed(record),
    });
  }

  get size(): number {
    return this.#records.size;
  }

  find(id: string): LeaseRecord | undefined {
    return this.#records.get(id);
  }

  all(): Iterable<LeaseRecord> {
    return this.#records.values();
  }

  /** Looks after a lease from now on. Claims it if the store knows it, see `claim`. */
  add(record: LeaseRecord): Promise<void> | undefined {
    this.#records.set(record.id, record);
    this.owned.add(record);
    this.#planRenewal(record);
    this.#plan(record);
    return record.confirmed ? this.claim(record) : undefined;
  }

  /**
   * Extends a lease that was granted with much less than its length at once, before its holder's
   * code runs and can hold the event loop up. Resolves when the request has been written; returns
   * `undefined` if there is nothing to wait for.
   */
  claim(record: LeaseRecord): Promise<void> | undefined {
    const now = this.#clock.now();
    const whole = Math.min(record.terms.ttl, record.holdUntil - now);
    if (!record.renews || record.renewing || record.validUntil - now >= CLAIM_BELOW * whole) return;
    record.renewing = true;
    this.#plan(record);
    void this.#renewDue(record);
    return this.#inquiries.written();
  }

  /** Looks after it no longer. */
  remove(record: LeaseRecord): void {
    this.#decisions.made(record);
    if (this.#records.get(record.id) !== record) return;
    this.#records.delete(record.id);
    this.owned.remove(record);
    this.#heap.remove(record);
    if (this.#records.size > 0) return;
    // the timer stays: it finds nothing to do, and the next lease need not set one
    for (const tell of this.#emptied.splice(0)) tell();
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#disarm();
  }

  /** Ends a lease on this side: aborts its signal, and looks after it no longer. */
  lose(record: LeaseRecord, reason: Parameters<LeaseRecord['lose']>[0]): void {
    record.lose(reason);
    this.remove(record);
  }

  /** Resolves when no lease is held. */
  empty(): Promise<void> {
    if (this.#records.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** True if a lease may be believed: its time has not come, and the machine did not suspend. */
  believes(record: LeaseRecord): boolean {
    this.#noticeSuspend();
    // after a stall the first look ends it: the signal need not wait for a timer
    if (this.#clock.now() >= record.validUntil) this.#end(record);
    return record.remaining > 0;
  }

  /** True if a lease may be believed; waits until that is certain, if it is in doubt. */
  async verified(record: LeaseRecord): Promise<boolean> {
    while (!this.believes(record)) {
      if (record.state !== 'held') return false;
      await this.#decisions.next(record);
    }
    return true;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to what the store answered; rejects if it
   * did not. Not the place for policy: the caller decides what an answer means.
   */
  renew(record: LeaseRecord, ms: number): Promise<RenewReply['status']> {
    return this.#inquiries.renew(record, ms);
  }

  /** The store has said how long a lease lasts. */
  #confirmed(record: LeaseRecord): void {
    // more than what a newer answer leaves less in doubt
    if (warnAt(record) - this.#clock.now() > drift(record.terms.ttl)) record.warned = false;
    this.#plan(record);
    this.#decisions.made(record);
  }

  #planRenewal(record: LeaseRecord): void {
    const left = record.validUntil - this.#clock.now();
    // early by up to a sixth of the interval, so that processes which started together do not renew
    // together for ever
    const interval = (left / 3) * (1 - this.#randomSource.fraction() / 6);
    record.renewAt = record.renews ? this.#clock.now() + interval : Number.POSITIVE_INFINITY;
  }

  #plan(record: LeaseRecord): void {
    if (this.#records.get(record.id) !== record) return;
    const { ending, warned, renewing, terms, validUntil } = record;
    const end = ending ? Number.POSITIVE_INFINITY : validUntil;
    const warning = warned || !terms.onExpiring ? end : warnAt(record);
    record.due = Math.min(end, warning, renewing ? Number.POSITIVE_INFINITY : record.renewAt);
    this.#heap.put(record);
    this.#arm();
  }

  #arm(): void {
    const due = this.#heap.first?.due;
    if (due === undefined || due >= this.#timerDue) return;
    this.#disarm();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.now(), () => this.#look(), true);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    this.#disarm();
    this.#noticeSuspend();
    const now = this.#clock.now();
    const renewals: LeaseRecord[] = [];
    for (;;) {
      const record = this.#heap.first;
      if (record === undefined || record.due - GATHER * record.terms.ttl > now) break;
      if (!this.#attend(record, now, renewals)) break;
    }
    for (const record of renewals)
      void (record.doubted ? this.#verify(record) : this.#renewDue(record));
    this.#arm();
  }

  /** Does what is due for one lease; false if nothing is, and so nothing for those after it. */
  #attend(record: LeaseRecord, now: number, renewals: LeaseRecord[]): boolean {
    const { terms } = record;
    if (now >= record.validUntil && !record.ending) {
      this.#end(record);
      return true;
    }
    let attended = false;
    if (!record.renewing && record.renewAt - GATHER * terms.ttl <= now) {
      record.renewing = true;
      renewals.push(record);
      attended = true;
    }
    if (terms.onExpiring && !record.warned && now >= warnAt(record)) {
      this.#warn(record);
      attended = true;
    }
    // what it was due for may be under way, or have been put off: it would be due for ever
    if (!attended && record.due > now) return false;
    this.#plan(record);
    return true;
  }

  /** Ends a lease whose time is over, after the answers that have arrived were read. */
  #end(record: LeaseRecord): void {
    if (record.state !== 'held' || record.over) {
      this.lose(record, record.endReason());
      return;
    }
    if (record.ending) return;
    record.ending = true;
    this.#plan(record);
    afterIo(this.#clock, () => {
      record.ending = false;
      if (record.state !== 'held') return;
      if (this.#clock.now() >= record.validUntil) this.lose(record, record.endReason());
      else this.#plan(record);
    });
  }

  /** Warns the holder, unless an answer that has arrived ends the danger. */
  #warn(record: LeaseRecord): void {
    record.warned = true;
    afterIo(this.#clock, () => {
      const now = this.#clock.now();
      if (record.state === 'held' && now >= warnAt(record)) void warn(record, leftAt(record, now));
    });
  }

  async #renewDue(record: LeaseRecord): Promise<void> {
    try {
      const status = await this.renew(record, record.terms.ttl);
      // a lease that was passed on is not known to the store before it was told: no answer yet
      if (status === 'absent' && record.confirmed) this.lose(record, 'gone');
      else if (status === 'absent') this.#retrySoon(record);
      else this.#planRenewal(record);
    } catch {
      record.failing = true;
      this.#retrySoon(record);
    }
    record.renewing = false;
    if (record.state === 'held') this.#plan(record);
  }

  /** Asks how a doubted lease stands, and changes nothing: it may be one that is not renewed. */
  async #verify(record: LeaseRecord): Promise<void> {
    record.renewing = true;
    try {
      const standing = await this.#inquiries.standing(record);
      if (standing === 'absent' && record.confirmed) this.lose(record, 'gone');
    } catch {
      // still in doubt: the store is asked again
    }
    if (record.doubted) this.#retrySoon(record);
    else this.#planRenewal(record);
    record.renewing = false;
    if (record.state === 'held') this.#plan(record);
  }

  #retrySoon(record: LeaseRecord): void {
    const left = record.validUntil - this.#clock.now();
    const pause = Math.max(RETRY_MS_MIN, Math.min(left, record.terms.ttl) / 10);
    record.renewAt = this.#clock.now() + (record.doubted ? Math.min(pause, DOUBT_MS_MAX) : pause);
  }

  #noticeSuspend(): void {
    if (this.#suspend.count === this.#suspends) return;
    this.#suspends = this.#suspend.count;
    for (const record of this.#records.values()) {
      record.doubted = true;
      if (!record.renewing) void this.#verify(record);
    }
  }
}
