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
import type { Chance } from '../chance.js';
import { afterIo, type Clock, type Timer } from '../clock.js';
import type { RenewReply } from '../engine/types.js';
import type { Settings } from '../options.js';
import type { Requests } from '../store/requests.js';
import { Decisions } from './decisions.js';
import { drift, type Grip } from './grip.js';
import { DueHeap } from './heap.js';
import { Inquiries, RETRY_MS_MIN } from './inquiries.js';
import { Owned } from './owned.js';
import type { Sleep } from './sleep.js';
import { leftAt, warn, warnAt } from './warning.js';

/** Leases go with those that are due for renewal this part of their length early. */
const GATHER = 0.05;
/** Longest time between two questions for a lease in doubt. */
const DOUBT_MS_MAX = 500;
/** A lease that was granted with less than this part of its length is extended at once. */
const CLAIM_BELOW = 0.5;

export class Keeper {
  readonly #inquiries: Inquiries;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  readonly #chance: Chance;
  readonly #heap = new DueHeap();
  readonly #grips = new Map<string, Grip>();
  readonly owned: Owned = new Owned();
  #timer: Timer | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #sleeps: number;
  #emptied: (() => void)[] = [];
  readonly #decisions = new Decisions();

  constructor(requests: Requests, sleep: Sleep, settings: Settings) {
    const { chance, clock, retention } = settings;
    this.#clock = clock;
    this.#chance = chance;
    this.#sleep = sleep;
    this.#sleeps = sleep.count;
    this.#inquiries = new Inquiries(requests, sleep, retention, {
      noticeSleep: () => this.#noticeSleep(),
      confirmed: (grip) => this.#confirmed(grip),
    });
  }

  get size(): number {
    return this.#grips.size;
  }

  find(id: string): Grip | undefined {
    return this.#grips.get(id);
  }

  all(): Iterable<Grip> {
    return this.#grips.values();
  }

  /** Looks after a lease from now on. Claims it if the store knows it, see `claim`. */
  add(grip: Grip): Promise<void> | undefined {
    this.#grips.set(grip.id, grip);
    this.owned.add(grip);
    this.#planRenewal(grip);
    this.#plan(grip);
    return grip.confirmed ? this.claim(grip) : undefined;
  }

  /**
   * Extends a lease that was granted with much less than its length at once, before its holder's
   * code runs and can hold the event loop up. Resolves when the request has been written; returns
   * `undefined` if there is nothing to wait for.
   */
  claim(grip: Grip): Promise<void> | undefined {
    const now = this.#clock.now();
    const whole = Math.min(grip.terms.ttl, grip.holdUntil - now);
    if (!grip.renews || grip.renewing || grip.validUntil - now >= CLAIM_BELOW * whole) return;
    grip.renewing = true;
    this.#plan(grip);
    void this.#renewDue(grip);
    return this.#inquiries.written();
  }

  /** Looks after it no longer. */
  remove(grip: Grip): void {
    this.#decisions.made(grip);
    if (this.#grips.get(grip.id) !== grip) return;
    this.#grips.delete(grip.id);
    this.owned.remove(grip);
    this.#heap.remove(grip);
    if (this.#grips.size > 0) return;
    // the timer stays: it finds nothing to do, and the next lease need not set one
    for (const tell of this.#emptied.splice(0)) tell();
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#disarm();
  }

  /** Ends a lease on this side: aborts its signal, and looks after it no longer. */
  lose(grip: Grip, reason: Parameters<Grip['lose']>[0]): void {
    grip.lose(reason);
    this.remove(grip);
  }

  /** Resolves when no lease is held. */
  empty(): Promise<void> {
    if (this.#grips.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** True if a lease may be believed: its time has not come, and the machine did not sleep. */
  believes(grip: Grip): boolean {
    this.#noticeSleep();
    // after a stall the first look ends it: the signal need not wait for a timer
    if (this.#clock.now() >= grip.validUntil) this.#end(grip);
    return grip.remaining > 0;
  }

  /** True if a lease may be believed; waits until that is certain, if it is in doubt. */
  async verified(grip: Grip): Promise<boolean> {
    while (!this.believes(grip)) {
      if (grip.state !== 'held') return false;
      await this.#decisions.next(grip);
    }
    return true;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to what the store answered; rejects if it
   * did not. Not the place for policy: the caller decides what an answer means.
   */
  renew(grip: Grip, ms: number): Promise<RenewReply['status']> {
    return this.#inquiries.renew(grip, ms);
  }

  /** The store has said how long a lease lasts. */
  #confirmed(grip: Grip): void {
    // more than what a newer answer leaves less in doubt
    if (warnAt(grip) - this.#clock.now() > drift(grip.terms.ttl)) grip.warned = false;
    this.#plan(grip);
    this.#decisions.made(grip);
  }

  #planRenewal(grip: Grip): void {
    const left = grip.validUntil - this.#clock.now();
    // early by up to a sixth of the interval, so that processes which started together do not renew
    // together for ever
    const interval = (left / 3) * (1 - this.#chance.fraction() / 6);
    grip.renewAt = grip.renews ? this.#clock.now() + interval : Number.POSITIVE_INFINITY;
  }

  #plan(grip: Grip): void {
    if (this.#grips.get(grip.id) !== grip) return;
    const { ending, warned, renewing, terms, validUntil } = grip;
    const end = ending ? Number.POSITIVE_INFINITY : validUntil;
    const warning = warned || !terms.onExpiring ? end : warnAt(grip);
    grip.due = Math.min(end, warning, renewing ? Number.POSITIVE_INFINITY : grip.renewAt);
    this.#heap.put(grip);
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
    this.#noticeSleep();
    const now = this.#clock.now();
    const renewals: Grip[] = [];
    for (;;) {
      const grip = this.#heap.first;
      if (grip === undefined || grip.due - GATHER * grip.terms.ttl > now) break;
      if (!this.#attend(grip, now, renewals)) break;
    }
    for (const grip of renewals) void (grip.doubted ? this.#verify(grip) : this.#renewDue(grip));
    this.#arm();
  }

  /** Does what is due for one lease; false if nothing is, and so nothing for those after it. */
  #attend(grip: Grip, now: number, renewals: Grip[]): boolean {
    const { terms } = grip;
    if (now >= grip.validUntil && !grip.ending) {
      this.#end(grip);
      return true;
    }
    let attended = false;
    if (!grip.renewing && grip.renewAt - GATHER * terms.ttl <= now) {
      grip.renewing = true;
      renewals.push(grip);
      attended = true;
    }
    if (terms.onExpiring && !grip.warned && now >= warnAt(grip)) {
      this.#warn(grip);
      attended = true;
    }
    // what it was due for may be under way, or have been put off: it would be due for ever
    if (!attended && grip.due > now) return false;
    this.#plan(grip);
    return true;
  }

  /** Ends a lease whose time is over, after the answers that have arrived were read. */
  #end(grip: Grip): void {
    if (grip.state !== 'held' || grip.over) {
      this.lose(grip, grip.endReason());
      return;
    }
    if (grip.ending) return;
    grip.ending = true;
    this.#plan(grip);
    afterIo(this.#clock, () => {
      grip.ending = false;
      if (grip.state !== 'held') return;
      if (this.#clock.now() >= grip.validUntil) this.lose(grip, grip.endReason());
      else this.#plan(grip);
    });
  }

  /** Warns the holder, unless an answer that has arrived ends the danger. */
  #warn(grip: Grip): void {
    grip.warned = true;
    afterIo(this.#clock, () => {
      const now = this.#clock.now();
      if (grip.state === 'held' && now >= warnAt(grip)) void warn(grip, leftAt(grip, now));
    });
  }

  async #renewDue(grip: Grip): Promise<void> {
    try {
      const status = await this.renew(grip, grip.terms.ttl);
      // a lease that was passed on is not known to the store before it was told: no answer yet
      if (status === 'absent' && grip.confirmed) this.lose(grip, 'gone');
      else if (status === 'absent') this.#retrySoon(grip);
      else this.#planRenewal(grip);
    } catch {
      grip.failing = true;
      this.#retrySoon(grip);
    }
    grip.renewing = false;
    if (grip.state === 'held') this.#plan(grip);
  }

  /** Asks how a doubted lease stands, and changes nothing: it may be one that is not renewed. */
  async #verify(grip: Grip): Promise<void> {
    grip.renewing = true;
    try {
      const standing = await this.#inquiries.standing(grip);
      if (standing === 'absent' && grip.confirmed) this.lose(grip, 'gone');
    } catch {
      // still in doubt: the store is asked again
    }
    if (grip.doubted) this.#retrySoon(grip);
    else this.#planRenewal(grip);
    grip.renewing = false;
    if (grip.state === 'held') this.#plan(grip);
  }

  #retrySoon(grip: Grip): void {
    const left = grip.validUntil - this.#clock.now();
    const pause = Math.max(RETRY_MS_MIN, Math.min(left, grip.terms.ttl) / 10);
    grip.renewAt = this.#clock.now() + (grip.doubted ? Math.min(pause, DOUBT_MS_MAX) : pause);
  }

  #noticeSleep(): void {
    const sleeps = this.#sleep.count;
    if (sleeps === this.#sleeps) return;
    this.#sleeps = sleeps;
    for (const grip of this.#grips.values()) {
      grip.doubted = true;
      if (!grip.renewing) void this.#verify(grip);
    }
  }
}
