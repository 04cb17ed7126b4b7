/**
 * The watchdog: renews, warns about and ends all leases of one store in a process.
 *
 * A lease is renewed when half of its length has passed, or slightly later. Each has its own
 * answer: renewed (`validUntil` advances), absent (the lease is lost, and its signal aborts now),
 * or none (it is retried until it ends). The watchdog never keeps a process alive.
 *
 * After a suspend, all leases are in doubt: the store is asked until it answers, or they end. If
 * the answer to a renewal may have arrived, a passed deadline is judged after one phase of reading.
 */
import { Records } from '../base/chain.js';
import { afterIo, type Clock } from '../base/clock.js';
import type { RenewManyReply, RenewReply } from '../engine/commands.js';
import { UNANSWERED } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import type { Hold, Root } from './root.js';
import { type LossReason, notRenewed } from './loss.js';
import { Inquiries, RENEWAL_WAITS } from './inquiries.js';
import { Owned } from './owned.js';
import { GATHER, Renewals, requestAt, Schedule } from './schedule.js';
import type { Moment, SuspendDetector } from './local-time.js';
import type { Telemetry } from '../observe/telemetry.js';
import { rearm, warnAt, warnSoon } from './warning.js';

/** A lease that was granted with less of its length is extended at once. */
const CLAIM_BELOW = 0.5;

export class Watchdog {
  readonly inquiries: Inquiries;
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #suspend: SuspendDetector;
  readonly #due: Schedule;
  readonly #roots = new Records<Root>();
  readonly owned: Owned = new Owned();
  #emptied: (() => void)[] = [];

  constructor(requests: Requests, suspend: SuspendDetector, telemetry: Telemetry) {
    const { randomSource, clock } = telemetry.settings;
    this.#requests = requests;
    this.#telemetry = telemetry;
    this.#clock = clock;
    this.#due = new Schedule(clock, randomSource, this.#look);
    this.#suspend = suspend;
    suspend.onSuspend((at) => this.#doubtAll(at));
    this.inquiries = new Inquiries(requests, suspend, telemetry, this.#confirmed);
  }

  find(id: string): Root | undefined {
    return this.#roots.find(id);
  }

  all(): readonly Root[] {
    return this.#roots.all();
  }

  add(root: Root, now: number): Promise<void> | undefined {
    this.#roots.add(root);
    root.renewal.watched = true;
    if (root.owner !== '') this.owned.add(root);
    this.#due.settle(root, now);
    return root.storeUntil - now >= CLAIM_BELOW * root.ttl ? undefined : this.#claim(root, now);
  }

  passed(root: Root, now: number): void {
    if (root.renewal.waiting !== undefined) decided(root);
    this.#due.passed(root, now);
  }

  /**
   * Before the holder's code can block the event loop. Resolves when the request has been written;
   * `undefined` if none is needed.
   */
  #claim(root: Root, now: number): Promise<void> | undefined {
    const { hold, renewal } = root;
    const whole = Math.min(root.ttl, hold.holdUntil - now);
    if (!root.renews || renewal.busy || hold.validUntil - now >= CLAIM_BELOW * whole) return;
    void this.#renewDue(root);
    return this.#requests.written();
  }

  stopRenewal(hold: Hold): void {
    hold.renewed = false;
    if (hold.root.hold === hold) this.#due.plan(hold.root);
  }

  remove(root: Root): void {
    const { renewal } = root;
    if (renewal.waiting !== undefined) decided(root);
    if (!this.#roots.remove(root)) return;
    renewal.watched = false;
    if (root.owner !== '') this.owned.remove(root);
    this.#due.remove(root);
    if (this.#roots.size > 0 || this.#emptied.length === 0) return;
    // the timer stays: it finds nothing to do, and the next lease can use it
    for (const tell of this.#emptied.splice(0)) tell();
  }

  close(): void {
    this.#due.close();
  }

  lose(hold: Hold, reason: LossReason): void {
    if (hold.root.hold !== hold) return;
    hold.lose(reason);
    this.remove(hold.root);
  }

  /** The store does not know a lease: it is in doubt until it is known why, and then lost. */
  async gone(root: Root, reason: 'gone' | 'forced' = 'gone'): Promise<void> {
    root.doubted = true;
    root.renewal.busy = true;
    this.#due.plan(root);
    this.lose(root.hold, (await this.inquiries.forced(root)) ?? reason);
  }

  empty(): Promise<void> {
    if (this.#roots.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  /** Certainly held: its time is not over, and no suspend was detected. */
  believes(hold: Hold, moment: Moment = this.#suspend.moment()): boolean {
    if (hold.state !== 'held') return false;
    if (moment.at < hold.validUntil) return !hold.root.doubted;
    // after a stall, the first check ends it: the signal does not wait for a timer
    this.#end(hold.root);
    return false;
  }

  async verified(hold: Hold): Promise<boolean> {
    while (!this.believes(hold)) {
      if (hold.state !== 'held') return false;
      await decision(hold.root);
    }
    return true;
  }

  renew(root: Root, ms: number): Promise<RenewReply['status']> {
    return this.inquiries.renew(root, ms);
  }

  readonly #confirmed = (root: Root): void => {
    const { hold, renewal } = root;
    if (hold.warned) rearm(hold, this.#clock.now());
    if (renewal.waiting !== undefined) decided(root);
    const { group, busy, due } = renewal;
    // a request under way plans it again: until then it is not due after its end
    const isLate =
      group === undefined ? !busy || due > hold.validUntil : group.due >= hold.validUntil;
    if (isLate) this.#due.plan(root);
  };

  readonly #look = (): void => {
    const moment = this.#suspend.moment();
    const now = moment.at;
    const renewals = new Renewals(now, this.#requests.shardOf);
    this.#due.takeGroups(now, renewals);
    while (!renewals.full) {
      const root = this.#due.first;
      if (root === undefined || root.renewal.due - GATHER * root.ttl > now) break;
      if (!this.#attend(root, now, renewals)) break;
    }
    this.#send(renewals, moment);
    this.#due.arm();
  };

  #send({ batches }: Renewals, moment?: Moment): void {
    for (const batch of batches) {
      const roots = batch.filter((root) => !(root.doubted && root.uncertain));
      for (const root of batch) if (root.doubted && root.uncertain) void this.#verify(root);
      const [first] = roots;
      if (first === undefined) continue;
      if (roots.length > 1) void this.#askTogether(roots, first.doubted);
      else void (first.doubted ? this.#verify(first) : this.#renewDue(first, moment));
    }
  }

  /** False if nothing is due for this lease, and so for no later one. */
  #attend(root: Root, now: number, renewals: Renewals): boolean {
    const { hold, renewal } = root;
    if (now >= hold.validUntil && !renewal.ending) {
      this.#end(root);
      return true;
    }
    let attended = false;
    if (requestAt(root) - GATHER * root.ttl <= now) {
      renewals.add(root);
      attended = true;
    }
    if (hold.terms.onExpiring && !hold.warned && now >= warnAt(hold)) {
      warnSoon(hold, this.#telemetry);
      attended = true;
    }
    // a task may be under way or postponed: without a new plan it would stay due
    if (!attended && renewal.due > now) return false;
    this.#due.plan(root);
    return true;
  }

  #end(root: Root): void {
    const { renewal } = root;
    if (root.hold.over) return this.lose(root.hold, root.hold.endReason());
    if (renewal.ending) return;
    renewal.ending = true;
    this.#due.plan(root);
    afterIo(this.#clock, () => {
      renewal.ending = false;
      const { hold } = root;
      // a look at its signal may have found the end
      if (hold.state === 'lost') return this.remove(root);
      if (hold.state !== 'held') return;
      if (this.#clock.now() >= hold.validUntil) this.lose(hold, hold.endReason());
      else this.#due.plan(root);
    });
  }

  async #renewDue(root: Root, now?: Moment): Promise<void> {
    root.renewal.busy = true;
    this.#due.plan(root);
    let left: number;
    try {
      const { ttl } = root;
      const status = await this.inquiries.renew(root, ttl, RENEWAL_WAITS, now);
      left = status === 'renewed' ? 1 : 0;
    } catch (error) {
      return this.#renewed(root, UNANSWERED, this.#clock.now(), error as Error);
    }
    this.#renewed(root, left, this.#clock.now());
  }

  async #askTogether(roots: readonly Root[], doubted: boolean): Promise<void> {
    const { ttl } = roots[0] as Root;
    const { inquiries } = this;
    const ask = (): Promise<RenewManyReply | undefined> =>
      doubted ? inquiries.verifyMany(roots) : inquiries.renewMany(roots, ttl);
    const answered = this.#due.sent(roots, ttl);
    let reply: RenewManyReply | undefined;
    let failure: Error | undefined;
    try {
      while (reply === undefined) reply = await ask();
      failure = reply.failure;
    } catch (error) {
      failure = error as Error;
    }
    answered();
    const now = this.#clock.now();
    for (let index = 0; index < roots.length; index++) {
      const left = reply?.left[index] ?? UNANSWERED;
      this.#renewed(roots[index] as Root, left, now, failure);
    }
  }

  /** @param left 0 if the store does not know the lease; below 0 without its answer */
  #renewed(root: Root, left: number, now: number, failure?: Error): void {
    root.renewal.busy = false;
    if (!root.held) return;
    if (left === 0) return void this.gone(root);
    if (left > 0 && !root.doubted) return this.#due.settle(root, now);
    // after a further suspend, an answer says nothing
    if (left < 0) root.renewal.failure = failure ?? notRenewed();
    this.#due.retry(root);
  }

  /** Reads the standing of a doubted lease: it may not be renewed. */
  async #verify(root: Root): Promise<void> {
    const { renewal } = root;
    renewal.busy = true;
    this.#due.plan(root);
    let standing: 'granted' | 'absent' | undefined;
    try {
      standing = await this.inquiries.standing(root);
    } catch {
      // it is asked again
    }
    if (standing === 'absent') return this.gone(root);
    renewal.busy = false;
    if (!root.held) return;
    if (root.doubted) this.#due.retry(root);
    else this.#due.settle(root, this.#clock.now());
  }

  #doubtAll(now: number): void {
    const all = new Renewals(now, this.#requests.shardOf);
    for (const root of this.#roots.all()) {
      root.doubted = true;
      if (!root.renewal.busy) all.add(root);
    }
    this.#send(all);
  }
}

function decision({ renewal }: Root): Promise<void> {
  return new Promise((resolve) => {
    renewal.waiting ??= [];
    renewal.waiting.push(resolve);
  });
}

function decided({ renewal }: Root): void {
  const { waiting } = renewal;
  if (waiting === undefined) return;
  renewal.waiting = undefined;
  for (const tell of waiting) tell();
}
