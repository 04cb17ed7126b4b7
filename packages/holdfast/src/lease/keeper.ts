/**
 * The keeper: the one thing in a process that looks after all leases of a store.
 *
 * It has one timer, for whichever lease is due first. A lease is due when it should be renewed (at
 * about a third of its length, with jitter), when its holder should be warned, and when it ends on
 * our clock. All that is due is renewed in one batch; each answer stands for itself, so that one
 * failure delays nobody else.
 *
 * An answer is one of three: renewed (and `validUntil` moves, counted from before the request was
 * sent), absent (the lease is lost, and its signal aborts now), or none (unknown: the lease stays
 * as it is, and is tried again until it ends). The keeper never keeps a process alive: whoever
 * works under a lease does.
 *
 * When the machine slept, leases are doubted (not held, not lost) until the store has answered what
 * it was asked since.
 */
import type { Chance } from '../chance.js';
import type { Clock, Timer } from '../clock.js';
import type { Micros, RenewReply } from '../engine/types.js';
import type { Settings } from '../options.js';
import type { Requests } from '../store/requests.js';
import { drift, type Grip, withDrift } from './grip.js';
import { DueHeap } from './heap.js';
import { Owned } from './owned.js';
import type { Moment, Sleep } from './sleep.js';

/**
 * Leases that are nearly due for renewal go with those that are: this part of their length early.
 */
const GATHER = 0.05;
/** Shortest time between two tries to renew the same lease. */
const RETRY_MS_MIN = 5;

export class Keeper {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  readonly #chance: Chance;
  readonly #retention: number;
  readonly #heap = new DueHeap();
  readonly #grips = new Map<string, Grip>();
  readonly owned: Owned = new Owned();
  #timer: Timer | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #sleeps: number;
  #emptied: (() => void)[] = [];

  constructor(requests: Requests, sleep: Sleep, settings: Settings) {
    const { chance, clock, retention } = settings;
    this.#requests = requests;
    this.#clock = clock;
    this.#chance = chance;
    this.#retention = retention;
    this.#sleep = sleep;
    this.#sleeps = sleep.count;
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

  /** Looks after a lease from now on. */
  add(grip: Grip): void {
    this.#grips.set(grip.id, grip);
    this.owned.add(grip);
    this.#planRenewal(grip);
    this.#plan(grip);
  }

  /** Looks after it no longer. */
  remove(grip: Grip): void {
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
    // after a stall whoever looks first ends it: the signal need not wait for a timer
    if (this.#clock.now() >= grip.validUntil) this.lose(grip, grip.endReason());
    return grip.remaining > 0;
  }

  /**
   * Extends a lease to at least `ms` from now. Resolves to what the store answered; rejects if it
   * did not. Not the place for policy: whoever calls decides what an answer means.
   */
  async renew(grip: Grip, ms: number): Promise<RenewReply['status']> {
    const { key, id } = grip;
    const retention = this.#retention;
    for (;;) {
      const sent = this.#sleep.moment();
      const length = Math.ceil(Math.min(ms, withDrift(grip.holdUntil - sent.at)));
      const patience = Math.min(grip.validUntil - sent.at, grip.terms.ttl / 3);
      const command = { op: 'renew', key, id, ttl: Math.max(1, length), retention } as const;
      const timeout = Math.max(RETRY_MS_MIN, patience);
      const reply = await this.#requests.send(command, undefined, timeout);
      if (reply.status === 'absent' || this.#confirm(grip, sent, reply.left)) return reply.status;
    }
  }

  /**
   * The store said that a lease has so much left. False if that tells nothing, as it was asked
   * before the machine slept: it has to be asked again.
   */
  #confirm(grip: Grip, sent: Moment, left: Micros): boolean {
    this.#noticeSleep();
    const sentAt = this.#sleep.told(sent);
    if (sentAt === Number.NEGATIVE_INFINITY && grip.state === 'held') return false;
    grip.confirm(sentAt + left / 1000 - drift(left / 1000));
    this.#plan(grip);
    return true;
  }

  #planRenewal(grip: Grip): void {
    const left = grip.validUntil - this.#clock.now();
    // early by up to a sixth of the interval, so that processes which started together do not renew
    // together for ever
    const interval = (left / 3) * (1 - this.#chance.fraction() / 6);
    const further = grip.terms.renew && grip.validUntil < grip.holdUntil;
    grip.renewAt = further ? this.#clock.now() + interval : Number.POSITIVE_INFINITY;
  }

  #plan(grip: Grip): void {
    if (this.#grips.get(grip.id) !== grip) return;
    const { warned, renewing, terms, validUntil } = grip;
    const warnAt = warned || !terms.onExpiring ? validUntil : validUntil - terms.expiringMs;
    grip.due = Math.min(validUntil, warnAt, renewing ? Number.POSITIVE_INFINITY : grip.renewAt);
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
    for (const grip of renewals) void this.#renewDue(grip);
    this.#arm();
  }

  /** Does what is due for one lease; false if nothing is, and so nothing for those after it. */
  #attend(grip: Grip, now: number, renewals: Grip[]): boolean {
    const { terms } = grip;
    if (now >= grip.validUntil) {
      this.lose(grip, grip.endReason());
      return true;
    }
    let attended = false;
    if (!grip.renewing && grip.renewAt - GATHER * terms.ttl <= now) {
      grip.renewing = true;
      renewals.push(grip);
      attended = true;
    }
    if (terms.onExpiring && !grip.warned && now >= grip.validUntil - terms.expiringMs) {
      grip.warned = true;
      attended = true;
      warn(grip);
    }
    // what it was due for may be under way, or have been put off: it would be due for ever
    if (!attended && grip.due > now) return false;
    this.#plan(grip);
    return true;
  }

  async #renewDue(grip: Grip): Promise<void> {
    try {
      const status = await this.renew(grip, grip.terms.ttl);
      // a lease that was passed on is not known to the store before it was told: no answer yet
      if (status === 'absent' && grip.confirmed) this.lose(grip, 'gone');
      else if (status === 'absent') this.#retrySoon(grip);
      else this.#planRenewal(grip);
    } catch {
      this.#retrySoon(grip);
    }
    grip.renewing = false;
    if (grip.state === 'held') this.#plan(grip);
  }

  /** Asks how a doubted lease stands, and changes nothing: it may be one that is not renewed. */
  async #verify(grip: Grip): Promise<void> {
    const { key, id } = grip;
    const retention = this.#retention;
    const command = { op: 'poll', key, ids: [id], patience: 0, retention } as const;
    grip.renewing = true;
    try {
      for (let known = false; !known; ) {
        const sent = this.#sleep.moment();
        const [standing] = (await this.#requests.send(command)).standings;
        known = standing?.status !== 'granted' || this.#confirm(grip, sent, standing.left);
        if (standing?.status !== 'granted' && grip.confirmed) this.lose(grip, 'gone');
      }
    } catch {
      // still in doubt: asked again when it would be renewed, and lost at its deadline
    }
    grip.renewing = false;
    if (grip.state === 'held') this.#plan(grip);
  }

  #retrySoon(grip: Grip): void {
    const left = grip.validUntil - this.#clock.now();
    grip.renewAt = this.#clock.now() + Math.max(RETRY_MS_MIN, Math.min(left, grip.terms.ttl) / 10);
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

function warn(grip: Grip): void {
  const remaining = grip.remaining;
  // the holder's callback may throw; that is the holder's error, and must not stop the keeper
  queueMicrotask(() => grip.terms.onExpiring?.(remaining));
}
