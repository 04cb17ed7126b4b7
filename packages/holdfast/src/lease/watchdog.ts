/**
 * The watchdog: renews, warns about and ends all leases of one store in a process.
 *
 * A lease is renewed when half of its length has passed, or slightly later. Leases with the same
 * ttl are renewed together, with one command for up to 500. Each has its own answer.
 *
 * An answer is one of three: renewed (`validUntil` advances, counted from before the request was
 * sent), absent (the lease is lost, and its signal aborts now), or none (the lease stays as it is,
 * and is retried until it ends). The watchdog never keeps a process alive.
 *
 * After a suspend, all leases are in doubt (not held, not lost): the store is asked until it
 * answers, or until they end. If the answer to a renewal may have arrived, a passed deadline is
 * judged after one phase of reading; the lease is not believed meanwhile.
 */
import { afterIo, type Clock } from '../clock.js';
import type { RenewManyReply, RenewReply } from '../engine/commands.js';
import { UNANSWERED } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { Decisions } from './decisions.js';
import type { LeaseRecord } from './lease-record.js';
import { type LossReason, notRenewed } from './loss.js';
import { DueLeases } from './due-leases.js';
import { Inquiries, RENEWAL_WAITS } from './inquiries.js';
import { Owned } from './owned.js';
import { GATHER } from './renewal-groups.js';
import { Renewals } from './renewals.js';
import type { SuspendDetector } from './suspend-detector.js';
import type { Telemetry } from '../telemetry.js';
import { rearm, warnAt, warnSoon } from './warning.js';

/** A lease that was granted with less than this part of its length is extended at once. */
const CLAIM_BELOW = 0.5;

export class Watchdog {
  readonly inquiries: Inquiries;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #suspend: SuspendDetector;
  readonly #due: DueLeases;
  readonly #records = new Map<string, LeaseRecord>();
  readonly owned: Owned = new Owned();
  #suspends: number;
  #emptied: (() => void)[] = [];
  readonly #decisions = new Decisions();

  constructor(requests: Requests, suspend: SuspendDetector, telemetry: Telemetry) {
    const { randomSource, clock } = telemetry.settings;
    this.#telemetry = telemetry;
    this.#clock = clock;
    this.#due = new DueLeases(clock, randomSource, () => this.#look());
    this.#suspend = suspend;
    this.#suspends = suspend.count;
    this.inquiries = new Inquiries(requests, suspend, telemetry, {
      noticeSleep: () => this.#noticeSuspend(),
      confirmed: (record) => this.#confirmed(record),
    });
  }

  find(id: string): LeaseRecord | undefined {
    return this.#records.get(id);
  }

  all(): Iterable<LeaseRecord> {
    return this.#records.values();
  }

  /** Adds a lease, and claims it. See `claim`. */
  add(record: LeaseRecord): Promise<void> | undefined {
    this.#records.set(record.id, record);
    record.watched = true;
    this.owned.add(record);
    const now = this.#clock.now();
    this.#due.settle(record, now);
    return this.claim(record, now);
  }

  /** Continues with the next lease of the same root: renewals of the root go on. */
  succeed(before: LeaseRecord, next: LeaseRecord): void {
    this.#decisions.made(before);
    this.#records.set(next.id, next);
    this.#due.succeed(before, next);
  }

  /**
   * Extends a lease at once that was granted with much less than its length, before its holder's
   * code can block the event loop. Resolves when the request has been written; returns `undefined`
   * if no request is needed.
   */
  claim(record: LeaseRecord, now: number = this.#clock.now()): Promise<void> | undefined {
    const whole = Math.min(record.terms.ttl, record.holdUntil - now);
    if (!record.renews || record.renewing || record.validUntil - now >= CLAIM_BELOW * whole) return;
    void this.#renewDue(record);
    return this.inquiries.written();
  }

  stopRenewal(record: LeaseRecord): void {
    record.terms = { ...record.terms, renew: false };
    this.#due.replan(record, this.#clock.now());
  }

  /** Removes a lease: it is not renewed any more. */
  remove(record: LeaseRecord): void {
    this.#decisions.made(record);
    if (this.#records.get(record.id) !== record) return;
    this.#records.delete(record.id);
    record.watched = false;
    this.owned.remove(record);
    this.#due.remove(record);
    if (this.#records.size > 0) return;
    // the timer stays: it finds nothing to do, and the next lease can use it
    for (const tell of this.#emptied.splice(0)) tell();
  }

  close(): void {
    this.#due.disarm();
  }

  /** Ends a lease in this process: aborts its signal, and removes it. */
  lose(record: LeaseRecord, reason: LossReason): void {
    record.lose(reason);
    this.remove(record);
  }

  /** The store does not know a lease: it is in doubt until it is known why, and then lost. */
  async gone(record: LeaseRecord, reason: 'gone' | 'forced' = 'gone'): Promise<void> {
    record.doubted = true;
    record.renewing = true;
    this.#due.plan(record);
    this.lose(record, (await this.inquiries.forced(record)) ?? reason);
  }

  /** Resolves when no lease is held. */
  empty(): Promise<void> {
    if (this.#records.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** True if a lease is certainly held: its time is not over, and no suspend was detected. */
  believes(record: LeaseRecord): boolean {
    const now = this.#clock.now();
    this.#noticeSuspend(now);
    // after a stall, the first check ends it: the signal does not wait for a timer
    if (now >= record.validUntil) this.#end(record);
    return record.remainingAt(now) > 0;
  }

  /** True if a lease is certainly held; waits for that decision if in doubt. */
  async verified(record: LeaseRecord): Promise<boolean> {
    while (!this.believes(record)) {
      if (record.state !== 'held') return false;
      await this.#decisions.next(record);
    }
    return true;
  }

  /** Extends a lease to at least `ms` from now. Rejects without an answer of the store. */
  renew(record: LeaseRecord, ms: number): Promise<RenewReply['status']> {
    return this.inquiries.renew(record, ms);
  }

  /** The store has reported how long a lease lasts. */
  #confirmed(record: LeaseRecord): void {
    const { group, validUntil } = record;
    this.#cleared(record);
    if (group === undefined || group.due >= validUntil) this.#due.plan(record);
  }

  #cleared(record: LeaseRecord): void {
    if (record.warned) rearm(record, this.#clock.now());
    this.#decisions.made(record);
  }

  #look(): void {
    this.#due.disarm();
    this.#noticeSuspend();
    const now = this.#clock.now();
    const renewals = new Renewals(now);
    this.#due.takeGroups(now, renewals);
    while (!renewals.full) {
      const record = this.#due.first;
      if (record === undefined || record.due - GATHER * record.terms.ttl > now) break;
      if (!this.#attend(record, now, renewals)) break;
    }
    for (const records of renewals.batches(this.inquiries.shardOf)) {
      const [first] = records as [LeaseRecord];
      if (records.length > 1) void this.#renewTogether(records);
      else void (first.doubted ? this.#verify(first) : this.#renewDue(first));
    }
    this.#due.arm();
  }

  /** Does the due tasks of one lease; false if none is due, and so none for later leases. */
  #attend(record: LeaseRecord, now: number, renewals: Renewals): boolean {
    const { terms } = record;
    if (now >= record.validUntil && !record.ending) {
      this.#end(record);
      return true;
    }
    let attended = false;
    if (!record.renewing && record.renewAt - GATHER * terms.ttl <= now) {
      renewals.add(record);
      attended = true;
    }
    if (terms.onExpiring && !record.warned && now >= warnAt(record)) {
      warnSoon(record, this.#telemetry);
      attended = true;
    }
    // a task may be under way or postponed: without a new plan it would stay due
    if (!attended && record.due > now) return false;
    this.#due.plan(record);
    return true;
  }

  /** Ends a lease whose time is over, after the answers that have arrived were read. */
  #end(record: LeaseRecord): void {
    if (record.state !== 'held' || record.over) return this.lose(record, record.endReason());
    if (record.ending) return;
    record.ending = true;
    this.#due.plan(record);
    afterIo(this.#clock, () => {
      record.ending = false;
      if (record.state !== 'held') return;
      if (this.#clock.now() >= record.validUntil) this.lose(record, record.endReason());
      else this.#due.plan(record);
    });
  }

  async #renewDue(record: LeaseRecord): Promise<void> {
    record.renewing = true;
    this.#due.plan(record);
    let left: number;
    try {
      const { ttl } = record.terms;
      left = (await this.inquiries.renew(record, ttl, RENEWAL_WAITS)) === 'renewed' ? 1 : 0;
    } catch (error) {
      return this.#renewed(record, UNANSWERED, this.#clock.now(), error as Error);
    }
    this.#renewed(record, left, this.#clock.now());
  }

  async #renewTogether(records: readonly LeaseRecord[]): Promise<void> {
    const { ttl } = (records[0] as LeaseRecord).terms;
    const answered = this.#due.sent(records, ttl);
    let reply: RenewManyReply | undefined;
    let failure: Error | undefined;
    try {
      while (reply === undefined) reply = await this.inquiries.renewMany(records, ttl);
      failure = reply.failure;
    } catch (error) {
      failure = error as Error;
    }
    answered();
    const now = this.#clock.now();
    for (let index = 0; index < records.length; index++) {
      const left = reply?.left[index] ?? UNANSWERED;
      this.#renewed(records[index] as LeaseRecord, left, now, failure);
    }
  }

  /** A renewal was answered: with the time left, "absent" (0), or not by the store (below 0). */
  #renewed({ latest: record }: LeaseRecord, left: number, now: number, failure?: Error): void {
    record.renewing = false;
    if (record.state !== 'held') return;
    if (left === 0) return void this.gone(record);
    if (left > 0) {
      this.#cleared(record);
      return this.#due.settle(record, now);
    }
    record.failure = failure ?? notRenewed();
    this.#due.retry(record);
  }

  /** Reads the standing of a doubted lease and changes nothing: it may not be renewed. */
  async #verify(asked: LeaseRecord): Promise<void> {
    asked.renewing = true;
    this.#due.plan(asked);
    let standing: 'granted' | 'absent' | undefined;
    try {
      standing = await this.inquiries.standing(asked);
    } catch {
      // still in doubt: the store is asked again
    }
    const record = asked.latest;
    if (standing === 'absent') return this.gone(record);
    record.renewing = false;
    if (record.state !== 'held') return;
    if (record.doubted) this.#due.retry(record);
    else this.#due.settle(record, this.#clock.now());
  }

  #noticeSuspend(now: number = this.#clock.now()): void {
    const before = this.#suspends;
    this.#suspends = this.#suspend.countAt(now);
    if (this.#suspends === before) return;
    for (const record of this.#records.values()) {
      record.doubted = true;
      if (!record.renewing) void this.#verify(record);
    }
  }
}
