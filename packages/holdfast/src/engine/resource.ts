/**
 * One resource: its capacity, its holders, its queue, its last fence.
 *
 *     (nothing) --grant--> held --release, expiry, force--> (nothing)
 *         |                  ^ \--resize--> held, with another weight
 *         \----enqueue--> queued --grant (in turn), join (same owner)--> held
 *                            \--withdraw, dead channel, cannot be granted--> (nothing)
 *     a hold of an owner --its own expiry--> (nothing); the last hold ends the lease
 *     held --park--> parked (see parking.ts) --signal, wants the permits--> queued
 *
 * Invariants kept here: I1 (`used` is the sum of the holders' weights, and no grant makes it exceed
 * `capacity`), I2 (`fence` only grows, and every grant takes a higher one), I9 (every lease ends;
 * `forgetAt` limits the life of the resource). Only this file writes the fields of a resource and
 * its entries, their maps and orders (`saved.ts` restores them); others append to
 * `unconsumedSignals`. A test holds this.
 */
import {
  endOf,
  type Hold,
  type Holder,
  type Joining,
  NOTHING_SENT,
  type Waiter,
} from './entries.js';
import type { LockKind } from './kinds.js';
import { EXPIRE_LIMIT, handOffsOf } from './limits.js';
import { type Parked, Parking } from './parking.js';
import { Processes, type Times } from './processes.js';
import { SortedSet } from './sorted-set.js';
import type { Acquire, Micros } from './commands.js';

export class Resource {
  kind: LockKind = 'mutex';
  /** 0 before its first use. */
  capacity = 0;
  fence: number;
  used = 0;
  lastTicket = 0;
  /** Waiters that no hand-off may overtake. */
  fairWaiting = 0;
  /** No lease ends later. */
  latest: Micros = 0;
  forgetAt: Micros = 0;
  /** Nothing fits. */
  closed = false;
  readonly holders: Map<string, Holder> = new Map();
  readonly expiries: SortedSet = new SortedSet();
  readonly waiters: Map<string, Waiter> = new Map();
  readonly queue: SortedSet = new SortedSet();
  readonly owners: Map<string, string> = new Map();
  readonly holds: Map<string, string> = new Map();
  readonly processes: Processes = new Processes();
  readonly parking: Parking = new Parking(this.processes);
  /** The conditions of signals for the next parked waiters. Empty between commands. */
  readonly unconsumedSignals: string[] = [];

  constructor(floor = 0) {
    this.fence = floor;
  }

  get idle(): boolean {
    return this.used === 0 && this.queue.size === 0 && this.parking.size === 0;
  }

  /**
   * Nothing is granted beside a root that may be handed off, also after the capacity was raised: a
   * fence could be above the reserved ones.
   */
  fits(weight: number): boolean {
    return !this.closed && this.used + weight <= this.capacity && !this.#mayBeHandedOff();
  }

  #mayBeHandedOff(): boolean {
    if (this.holders.size !== 1) return false;
    const [only] = this.holders.values();
    return (only as Holder).handOffs > 0;
  }

  /** Its own, or its owner's that it joined. */
  leaseOf(id: string, now: Micros): Holder | undefined {
    const holder = this.holders.get(this.holds.get(id) ?? id);
    return holder !== undefined && endOf(holder, id) > now ? holder : undefined;
  }

  /** Counts an expired lease that was not removed. */
  hasLease(id: string): boolean {
    return this.holders.has(this.holds.get(id) ?? id);
  }

  leaseOfOwner(owner: string, now: Micros): Holder | undefined {
    const id = owner === '' ? undefined : this.owners.get(owner);
    const holder = id === undefined ? undefined : this.holders.get(id);
    return holder !== undefined && holder.expires > now ? holder : undefined;
  }

  next(now: Micros): Micros {
    const first = this.expiries.at(0);
    return first === undefined ? 0 : Math.max(0, (this.expiries.score(first) as number) - now);
  }

  dropExpired(now: Micros): void {
    this.parking.dropSilent(now, EXPIRE_LIMIT);
    for (let count = 0; count < EXPIRE_LIMIT; ) {
      const id = this.expiries.at(0);
      if (id === undefined || (this.expiries.score(id) as number) > now) return;
      const holder = this.holders.get(id) as Holder;
      count += 1 + holder.holds.size;
      if (holder.owner !== '') this.#dropHolds(holder, now);
      else {
        this.#lapse(holder, holder.expires, now);
        this.remove(holder);
      }
    }
  }

  #dropHolds(holder: Holder, now: Micros): void {
    let due = Number.POSITIVE_INFINITY;
    let dropped = false;
    for (const [id, { expires }] of [...holder.holds]) {
      if (expires > now) due = Math.min(due, expires);
      else {
        if (id === holder.id) this.#lapse(holder, expires, now);
        holder.holds.delete(id);
        this.holds.delete(id);
        dropped = true;
      }
    }
    if (holder.holds.size === 0) return this.remove(holder);
    // one of the expired holds may have got the signal
    if (dropped && holder.signalled !== '') {
      this.unconsumedSignals.push(holder.signalled);
      holder.signalled = '';
    }
    this.#weigh(holder);
    holder.due = due;
    this.expiries.set(holder.id, due);
  }

  /** The waiter did not claim a lease that ended before its ttl. */
  #lapse({ id, since, ttl }: Holder, expires: Micros, now: Micros): void {
    if (expires < since + ttl * 1000) this.processes.lapse(id, since, now);
  }

  /**
   * Removes an expired lease or hold of an acquisition that asks again, which `EXPIRE_LIMIT` left:
   * its permits would count twice.
   */
  dropStale(id: string, now: Micros): void {
    const holder = this.holders.get(this.holds.get(id) ?? id);
    if (holder === undefined || endOf(holder, id) > now) return;
    if (holder.owner === '') this.remove(holder);
    else this.#dropHolds(holder, now);
  }

  grant(
    wanted: (Acquire & { readonly signalled?: undefined }) | Waiter,
    now: Micros,
    lease: number,
  ): Holder {
    const handOffs = handOffsOf(wanted, this);
    const fence = Math.max(this.fence + 1, now);
    this.fence = fence + handOffs;
    const { id, owner, weight, channel, meta, ttl, tasks = 0 } = wanted;
    const expires = now + lease * 1000;
    const holds = new Map<string, Hold>();
    if (owner !== '') holds.set(id, { weight, changes: 0, channel, expires });
    return this.add({
      // spread is slow
      id,
      owner,
      weight,
      changes: 0,
      channel,
      expires,
      due: expires,
      meta,
      ttl,
      fence,
      handOffs,
      tasks,
      since: now,
      holds,
      signalled: wanted.signalled ?? '',
      sent: NOTHING_SENT,
    });
  }

  add(holder: Holder): Holder {
    this.holders.set(holder.id, holder);
    this.used += holder.weight;
    if (holder.owner !== '') {
      this.owners.set(holder.owner, holder.id);
      this.holds.set(holder.id, holder.id);
    }
    this.#schedule(holder);
    return holder;
  }

  join(holder: Holder, wanted: Joining, now: Micros, lease: number, signalled = ''): Holder {
    const { id, weight, channel } = wanted;
    holder.signalled ||= signalled;
    const expires = now + lease * 1000;
    if (!holder.holds.has(id)) {
      holder.holds.set(id, { weight, changes: 0, channel, expires });
      holder.due = Math.min(holder.due, expires);
    }
    this.holds.set(id, holder.id);
    this.extend(holder, id, expires);
    return holder;
  }

  extend(holder: Holder, id: string, expires: Micros): void {
    holder.expires = Math.max(holder.expires, expires);
    const hold = holder.holds.get(id);
    if (hold === undefined) holder.due = holder.expires;
    else hold.expires = Math.max(hold.expires, expires);
    this.#schedule(holder);
  }

  #schedule(holder: Holder): void {
    this.expiries.set(holder.id, holder.due);
    this.latest = Math.max(this.latest, holder.expires);
  }

  leave(holder: Holder, id: string, isHeard = true): boolean {
    holder.holds.delete(id);
    if (holder.owner !== '') this.holds.delete(id);
    if (holder.holds.size > 0) {
      this.#weigh(holder);
      return false;
    }
    if (isHeard) holder.signalled = '';
    this.remove(holder);
    return true;
  }

  #weigh(holder: Holder): void {
    let weight = 0;
    for (const hold of holder.holds.values()) weight = Math.max(weight, hold.weight);
    this.used += weight - holder.weight;
    holder.weight = weight;
  }

  /**
   * Frees the reserved fences above `used`, the last that the process used. So fences do not run
   * ahead of the clock, and a deleted key starts again above all of them (I2).
   */
  takeBackFences({ fence, handOffs }: Holder, used: number = fence): void {
    const last = fence + handOffs;
    if (this.fence === last) this.fence = Math.min(last, Math.max(fence, used));
  }

  remove(holder: Holder): void {
    if (holder.signalled !== '') this.unconsumedSignals.push(holder.signalled);
    this.holders.delete(holder.id);
    this.expiries.delete(holder.id);
    this.used -= holder.weight;
    // the owner may have a newer lease
    if (this.owners.get(holder.owner) === holder.id) this.owners.delete(holder.owner);
    for (const id of holder.holds.keys())
      if (this.holds.get(id) === holder.id) this.holds.delete(id);
    if (this.used === 0) this.latest = 0;
  }

  resize(holder: Holder, weight: number, now: Micros): void {
    if (weight > holder.weight) {
      this.fence = Math.max(this.fence + 1, now);
      holder.fence = this.fence;
    }
    this.used += weight - holder.weight;
    holder.weight = weight;
    for (const hold of holder.holds.values()) hold.weight = weight;
  }

  resizeHold(hold: Hold, weight: number): void {
    hold.weight = weight;
  }

  /** False for a late duplicate. */
  noteChange(own: Holder | Hold, seq: number): boolean {
    if (seq <= own.changes) return false;
    own.changes = seq;
    return true;
  }

  noteSignal(own: Holder | Hold, sent: Holder['sent']): void {
    own.sent = sent;
  }

  readdress(waiter: Waiter | Parked, { channel, token }: Pick<Waiter, 'channel' | 'token'>): void {
    waiter.channel = channel;
    waiter.token = token;
  }

  address(holder: Holder, id: string, channel: string): void {
    (holder.holds.get(id) ?? holder).channel = channel;
  }

  noteTasks(waiter: Waiter | Holder, { tasks = 0 }: Pick<Acquire, 'tasks'>): void {
    waiter.tasks = tasks;
  }

  setCapacity(kind: LockKind, capacity: number): void {
    this.kind = kind;
    this.capacity = capacity;
  }

  enqueue(
    wanted: Omit<Waiter, 'signalled' | 'tasks'> & Pick<Acquire, 'tasks' | 'waited'>,
    now: Micros,
    signalled = '',
  ): void {
    const place = wanted.ticket === 0 ? this.#placeAfter(wanted.waited ?? 0, now) : wanted.ticket;
    const ticket = place === 0 ? Math.max(this.lastTicket + 1, now) : place;
    this.lastTicket = Math.max(this.lastTicket, ticket);
    const { id, owner, weight, ttl, claim, fair, handOffs, channel, token, meta } = wanted;
    const asked = { id, owner, weight, ttl, claim, fair, handOffs, channel, token, meta };
    // a spread would give each waiter a shape of its own, which is slow to read
    this.place(Object.assign(asked, { tasks: wanted.tasks ?? 0, ticket, signalled }));
  }

  place(waiter: Waiter, times?: Readonly<Times>): void {
    const { id, ticket, fair } = waiter;
    this.waiters.set(id, waiter);
    this.queue.set(id, ticket);
    this.processes.enter(id, times);
    if (fair) this.fairWaiting += 1;
  }

  /**
   * The ticket of a root whose oldest task has waited this long; 0 for the end of the queue. A last
   * ticket in the future shows that the clock was set back: the order is unknown.
   */
  #placeAfter(waited: number, now: Micros): number {
    return waited === 0 || this.lastTicket > now ? 0 : Math.max(1, now - waited * 1000);
  }

  dequeue(id: string): Waiter | undefined {
    const waiter = this.waiters.get(id);
    if (waiter === undefined) return undefined;
    this.waiters.delete(id);
    this.queue.delete(id);
    this.processes.leave(id);
    if (waiter.fair) this.fairWaiting -= 1;
    return waiter;
  }

  /** `since` is above all tickets and shows the order of arrival. */
  park(wanted: Omit<Parked, 'since' | 'until'>, now: Micros, retention: number): void {
    const since = Math.max(this.lastTicket + 1, now);
    this.lastTicket = since;
    this.parking.add({ ...wanted, since, until: now + retention * 1000 });
  }

  /**
   * Keeps the resource for its retention after its last lease. To save writes, the end (in whole
   * ms) moves only if it is too early, or more than the retention too late and no waiter is parked.
   */
  touch(now: Micros, retention: number): void {
    const least = Math.floor(Math.max(now, this.latest) / 1000) + retention;
    const end = this.forgetAt / 1000;
    const spare = end === 0 ? 0 : Math.floor(retention / 2);
    const most = this.parking.size > 0 ? Infinity : least + retention;
    if (end < least || end > most) this.forgetAt = (least + spare) * 1000;
    this.processes.tidy();
  }
}
