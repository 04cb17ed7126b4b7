/**
 * Roots: a process has one entry in the queue of the store for each mutex and terms, and hands the
 * lease on among its own tasks without telling the store (decision 10).
 *
 * A hand-off changes nothing in the store, so its conditions keep every promise to other processes:
 * a fence is reserved for it, the claim window of the grant bounds the delay of other waiters, and
 * the lease is certainly held and does not end soon. Otherwise the root ends with a `turn`.
 */
import type { Clock } from '../clock.js';
import { handOffsAlone } from '../engine/limits.js';
import type { HoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { Revocations } from '../lease/revocations.js';
import type { Moment, SuspendDetector } from '../lease/suspend-detector.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../options.js';
import type { AcquireRequest } from './call.js';
import type { AcquireSender } from './acquire-sender.js';
import * as failures from './failures.js';
import { FairGroups } from './fair-groups.js';
import { RootAcquisition } from './root-acquisition.js';
import { RootQueue } from './root-queue.js';
import { Task } from './task.js';
import { limitWait } from './wait-limit.js';
import type { Telemetry } from '../telemetry.js';

/** The hand-offs of a root for which other processes wait in any case. */
const UNTIMED = 8;
/** Ms after the grant in which further hand-offs of such a root are allowed. */
const BATCH_MS = 5;

/** True for an acquisition of a mutex that may share a root with others of its process. */
export function mayShare(request: AcquireRequest, { localHandOffs }: Settings): boolean {
  const { capacity, option, stays, terms } = request;
  const isMutex = capacity === 1 && option === undefined && stays !== true;
  const alone = terms.owner !== '' || !terms.renew || terms.wait === 0;
  return isMutex && !alone && localHandOffs > 0;
}

export interface RootsParts {
  readonly settings: Settings;
  readonly suspend: SuspendDetector;
  readonly watchdog: Watchdog;
  readonly telemetry: Telemetry;
  readonly revocations: Revocations;
  readonly ids: { next(sleeps: number): string };
  readonly sender: AcquireSender;
  /** Adds a root to the pending acquisitions. */
  readonly add: (root: RootAcquisition) => void;
  /** Ends a root without tasks here. Returns the function that withdraws it from the store. */
  readonly leave: (root: RootAcquisition) => () => void;
}

export class Roots {
  readonly #parts: RootsParts;
  readonly #clock: Clock;
  readonly #queues = new Map<string, RootQueue[]>();
  /** The fair tasks that ask at the end of this step. */
  readonly groups: FairGroups = new FairGroups((group) => this.#askTogether(group));
  readonly #events = {
    waits: (queue: RootQueue): void => this.#watch(queue),
    left: (queue: RootQueue): void => this.#askAnew(queue),
    failed: (queue: RootQueue): void => this.#tidy(queue),
  };

  constructor(parts: RootsParts) {
    this.#parts = parts;
    this.#clock = parts.settings.clock;
  }

  acquire(request: AcquireRequest): Promise<LeaseRecord | null> {
    const length = this.#lengthOf(request);
    if (length >= this.#parts.settings.maxQueue)
      return Promise.reject(failures.refused(request, { status: 'full', now: 0, length }));
    const queue = this.#queueOf(request);
    const task = new Task(request, queue, this.#clock.now());
    queue.add(task);
    limitWait(task, this.#clock, (late, error) => this.#giveUp(late, error));
    // a lease whose time is over ends here, and the task asks anew
    if (queue.lease !== undefined) this.#parts.watchdog.believes(queue.lease);
    if (queue.entry === undefined && queue.lease === undefined) this.#askOrGather(queue);
    else if (task.heard) request.onProgress?.(undefined);
    if (queue.lease !== undefined) this.#watch(queue);
    return task.promise;
  }

  /** Hands a lease that is certainly held to the next task; false if it must not be handed off. */
  handOff(record: LeaseRecord): boolean {
    const queue = this.#queueHolding(record);
    if (queue === undefined) return false;
    const group = queue.size === 0 ? this.#neighbour(queue, record) : undefined;
    const next = queue.oldest ?? group?.oldest;
    if (next === undefined || !this.#mayHandOff(record)) return false;
    if (group?.entry !== undefined) {
      queue.absorb(group, group.entry.id);
      this.groups.withdraw(this.#parts.leave(group.entry));
    }
    const successor = record.handOff(next.request.terms);
    this.#parts.watchdog.succeed(record, successor);
    this.#parts.telemetry.granted(successor, 'local');
    queue.granted(successor);
    return true;
  }

  /** Ends the root of a lease. Returns the next root, if tasks wait. */
  turn(record: LeaseRecord): RootAcquisition | undefined {
    const queue = this.#queueHolding(record);
    if (queue === undefined) return undefined;
    queue.lease = undefined;
    this.#tidy(queue);
    if (queue.size === 0) return undefined;
    return this.#next(queue, this.#parts.suspend.moment());
  }

  /**
   * Ends a fair root together with the request of the group that gathers now. So the task that
   * releases may join that group, if it asks again in the same step. False without such a group.
   * @param send sends the end of the root, and the request
   */
  endWithGroup(record: LeaseRecord, send: NonNullable<RootQueue['withEnd']>): boolean {
    const queue = this.#queueHolding(record);
    const group = this.groups.next(record.key);
    if (queue === undefined || queue.size > 0) return false;
    if (group?.withEnd !== undefined || group?.suits(record.terms) !== true) return false;
    queue.lease = undefined;
    this.#tidy(queue);
    group.withEnd = send;
    return true;
  }

  /** The tasks of this process that wait, by key. */
  *waiting(): Iterable<readonly [key: string, count: number]> {
    for (const queue of [...this.#queues.values()].flat()) yield [queue.key, queue.size];
  }

  /** The number of tasks that wait for a key here, without an entry of their own in the store. */
  localWaiters(key: string): number {
    let count = 0;
    for (const { entry, lease, size } of this.#queues.get(key) ?? []) {
      if (lease !== undefined) count += size;
      else if (entry !== undefined && entry.ticket !== 0) count += size - 1;
    }
    return count;
  }

  /** Ends all tasks that wait behind a lease of this process. */
  rejectBehindLeases(error: (key: string) => HoldfastError): void {
    this.groups.askNow();
    for (const queue of [...this.#queues.values()].flat()) {
      queue.timer?.cancel();
      if (queue.entry === undefined) queue.rejectAll(error(queue.key));
    }
  }

  /**
   * Asks the store once in a claim window about a lease behind which tasks wait: it may have ended
   * there without a push. A root that is handed on does not get that old.
   */
  #watch(queue: RootQueue): void {
    const { revocations, settings } = this.#parts;
    queue.timer ??= this.#clock.after(
      settings.claimWindow,
      () => {
        queue.timer = undefined;
        const { lease, oldest } = queue;
        if (lease === undefined || oldest === undefined) return;
        const waited = this.#clock.now() - oldest.arrived;
        const { telemetry } = this.#parts;
        if (waited >= settings.longWait) telemetry.warn('waits', oldest.request, waited, lease);
        telemetry.warn('queue', queue.key, queue.size);
        const isOld = this.#clock.now() - lease.since >= settings.claimWindow;
        if (isOld) void revocations.heard(lease.id);
        this.#watch(queue);
      },
      true,
    );
  }

  /** See the conditions in decisions 10, 22 and 26. */
  #mayHandOff({ handOffs, index, since, storeUntil, terms }: LeaseRecord): boolean {
    const now = this.#clock.now();
    const { claimWindow, localHandOffs } = this.#parts.settings;
    const left = storeUntil - now;
    // a root that was granted alone delays no other process, as far as is known
    const isShort = index < UNTIMED || handOffs + index >= handOffsAlone(localHandOffs);
    const window = isShort ? claimWindow : Math.min(BATCH_MS, claimWindow);
    // the hand-offs of a fair root delay no other process: its tasks are first in the queue
    const inWindow = handOffs > 0 && (terms.fair || now - since < window);
    // an extended lease would delay other processes for longer than the next task asked
    return inWindow && left >= Math.min(claimWindow, terms.ttl) / 2 && left <= terms.ttl;
  }

  #giveUp(task: Task, error: HoldfastError): void {
    if (task.settled) return;
    const { queue } = task;
    queue.remove(task);
    task.fail(error);
    if (queue.size === 0 && queue.entry !== undefined) this.#leave(queue.entry);
    this.#tidy(queue);
  }

  /** Withdraws an entry without tasks. The entry behind it is behind the one before it now. */
  #leave(entry: RootAcquisition): void {
    for (const { entry: other } of this.#queues.get(entry.request.key) ?? [])
      if (other?.ahead === entry.id) other.ahead = entry.ahead;
    this.#parts.leave(entry)();
  }

  /** The group whose entry is directly behind a fair root in the queue, if its fences suffice. */
  #neighbour({ key, fair, run }: RootQueue, record: LeaseRecord): RootQueue | undefined {
    if (!fair) return undefined;
    const { terms, handOffs } = record;
    return this.#queues.get(key)?.find((group) => {
      const { entry, size } = group;
      if (entry?.isCertain !== true || !run.has(entry.ahead)) return false;
      return size <= handOffs && group.suits(terms);
    });
  }

  /** The lease was lost or given up: the other tasks ask in the order of their arrival. */
  #askAnew(queue: RootQueue): void {
    if (queue.size > 0) this.#ask(queue);
    this.#tidy(queue);
  }

  /** The first fair task of its kind asks at once, the others of its step together. */
  #askOrGather(queue: RootQueue): void {
    if (this.groups.has(queue)) return;
    const { fair, key } = queue;
    const others = this.#queues.get(key)?.some((one) => one !== queue && one.fair);
    if (fair && others === true) return this.groups.gather(queue);
    this.groups.askNow(key);
    this.#ask(queue);
  }

  #askTogether(group: RootQueue): void {
    const { withEnd } = group;
    group.withEnd = undefined;
    const isEmpty = group.size === 0;
    if (withEnd !== undefined)
      withEnd(isEmpty ? undefined : this.#next(group, this.#parts.suspend.moment()));
    else if (!isEmpty) this.#ask(group);
    this.#tidy(group);
  }

  #ask(queue: RootQueue): void {
    const moment = this.#parts.suspend.moment();
    this.#parts.sender.ask(this.#next(queue, moment), moment);
  }

  #next(queue: RootQueue, moment: Moment): RootAcquisition {
    const root = new RootAcquisition(this.#parts.ids.next(moment.sleeps), queue, moment);
    this.#parts.add(root);
    return root;
  }

  #queueHolding(record: LeaseRecord): RootQueue | undefined {
    const { observer } = record;
    return observer instanceof RootQueue && observer.lease === record ? observer : undefined;
  }

  /** The number of tasks with these terms that wait. */
  #lengthOf({ key, terms }: AcquireRequest): number {
    let length = 0;
    for (const queue of this.#queues.get(key) ?? []) {
      if (!queue.suits(terms)) continue;
      // the first task of a new root does not wait yet, as far as is known
      length += queue.size - (queue.entry !== undefined && !queue.entry.heard ? 1 : 0);
    }
    return length;
  }

  #queueOf(request: AcquireRequest): RootQueue {
    const queues = this.#queues.get(request.key);
    const { localHandOffs } = this.#parts.settings;
    const known = queues?.find(
      (queue) =>
        queue.open && queue.suits(request.terms) && !(queue.fair && queue.size > localHandOffs),
    );
    if (known !== undefined) return known;
    const queue = new RootQueue(request, this.#parts, this.#events);
    if (queues === undefined) this.#queues.set(request.key, [queue]);
    else queues.push(queue);
    return queue;
  }

  #tidy(queue: RootQueue): void {
    if (!queue.empty) return;
    queue.timer?.cancel();
    const queues = this.#queues.get(queue.key) ?? [];
    const place = queues.indexOf(queue);
    if (place < 0) return;
    if (queues.length === 1) this.#queues.delete(queue.key);
    else queues.splice(place, 1);
  }
}
