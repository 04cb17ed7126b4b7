/**
 * The watchdog: renews, warns about and ends all leases of one store in a process.
 *
 * It has one timer, for the lease that is due first. A lease is due when it should be renewed (at
 * about a third of its length, with jitter), when its holder should be warned, and when it ends on
 * the local clock. Due renewals go into one batch; each has its own answer.
 *
 * An answer is one of three: renewed (`validUntil` advances, counted from before the request was
 * sent), absent (the lease is lost, and its signal aborts now), or none (the lease stays as it is,
 * and is retried until it ends). The watchdog never keeps a process alive.
 *
 * After a suspend, all leases are in doubt (not held, not lost): the store is asked until it
 * answers, or until they end. If the answer to a renewal may have arrived, a passed deadline is
 * judged after one phase of reading; the lease is not believed meanwhile.
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

/** Leases that are due within this part of their length join the batch. */
const GATHER = 0.05;
/** The longest time between two requests for a lease in doubt. */
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

  /** Adds a lease. Claims it if the store knows it, see `claim`. */
  add(record: LeaseRecord): Promise<void> | undefined {
    this.#records.set(record.id, record);
    this.owned.add(record);
    this.#planRenewal(record);
    this.#plan(record);
    return record.confirmed ? this.claim(record) : undefined;
  }

  /**
   * Extends a lease at once that was granted with much less than its length, before its holder's
   * code can block the event loop. Resolves when the request has been written; returns `undefined`
   * if no request is needed.
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

  /** Removes a lease: it is not renewed any more. */
  remove(record: LeaseRecord): void {
    this.#decisions.made(record);
    if (this.#records.get(record.id) !== record) return;
    this.#records.delete(record.id);
    this.owned.remove(record);
    this.#heap.remove(record);
    if (this.#records.size > 0) return;
    // the timer stays: it finds nothing to do, and the next lease can use it
    for (const tell of this.#emptied.splice(0)) tell();
  }

  /** Stops the timer. */
  close(): void {
    this.#disarm();
  }

  /** Ends a lease in this process: aborts its signal, and removes it. */
  lose(record: LeaseRecord, reason: Parameters<LeaseRecord['lose']>[0]): void {
    record.lose(reason);
    this.remove(record);
  }

  /** Resolves when no lease is held. */
  empty(): Promise<void> {
    if (this.#records.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** True if a lease is certainly held: its time is not over, and no suspend was detected. */
  believes(record: LeaseRecord): boolean {
    this.#noticeSuspend();
    // after a stall, the first check ends it: the signal does not wait for a timer
    if (this.#clock.now() >= record.validUntil) this.#end(record);
    return record.remaining > 0;
  }

  /** True if a lease is certainly held; waits for that decision if in doubt. */
  async verified(record: LeaseRecord): Promise<boolean> {
    while (!this.believes(record)) {
      if (record.state !== 'held') return false;
      await this.#decisions.next(record);
    }
    return true;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to the answer of the store; rejects without
   * one. The caller decides what an answer means.
   */
  renew(record: LeaseRecord, ms: number): Promise<RenewReply['status']> {
    return this.#inquiries.renew(record, ms);
  }

  /** The store has reported how long a lease lasts. */
  #confirmed(record: LeaseRecord): void {
    // by more than the drift margin, as a newer answer may report slightly less remaining time
    if (warnAt(record) - this.#clock.now() > drift(record.terms.ttl)) record.warned = false;
    this.#plan(record);
    this.#decisions.made(record);
  }

  #planRenewal(record: LeaseRecord): void {
    const left = record.validUntil - this.#clock.now();
    // early by up to a sixth of the interval, so that processes that started together do not keep
    // renewing at the same time
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

  /** Does the due tasks of one lease; false if none is due, and so none for later leases. */
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
    // a task may be under way or postponed: without a new plan it would stay due
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
      // the store may not know of a hand-off yet: "absent" is no answer then
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

  /** Reads the standing of a doubted lease and changes nothing: it may not be renewed. */
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
