/**
 * Roots: a process has one entry in the queue of the store for each mutex and terms, and hands the
 * lease on among its own tasks without telling the store (decision 10).
 *
 * A hand-off changes nothing in the store, so its conditions keep every promise to other processes:
 * a fence is reserved for it, the claim window of the grant bounds the delay of other waiters, and
 * the lease is certainly held and does not end soon. Otherwise the root ends with a `turn`.
 */
import type { Chain } from '../base/chain.js';
import type { Clock } from '../base/clock.js';
import type { HoldfastError } from '../base/errors.js';
import type { Hold, Root } from '../lease/root.js';
import type { Lasting } from '../lease/lasting.js';
import type { Moment, SuspendDetector } from '../lease/local-time.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Settings } from '../base/options.js';
import type { AcquireSender } from './acquire-sender.js';
import * as failures from './failures.js';
import { FairGroups } from './fair-groups.js';
import { Acquisition } from './acquisition.js';
import { KeyQueue, RootQueue, type RootQueueEvents, type Task } from './root-queue.js';
import { type AcquireRequest, Call, type Limits, limitWait } from './call.js';
import type { Telemetry } from '../observe/telemetry.js';

/** The hand-offs of a root for which other processes wait in any case. */
const UNTIMED = 8;
/**
 * Further hand-offs of a root are allowed so long after the grant. A root that was granted alone
 * has the same limit: the answer to the `turn` tells its process that others wait, or it goes on
 * with the next root at once.
 */
const BATCH_MS = 5;
/** Keys without a task whose queues are kept. */
const IDLE_MAX = 1000;

/** See `releaser.ts`. */
export type Ending =
  | { readonly how: 'passed' }
  | { readonly how: 'joined'; readonly group: RootQueue }
  | { readonly how: 'turned'; readonly next: Acquisition }
  | { readonly how: 'freed' };

type Certainty = 'held' | 'doubted' | 'releasing';

const PASSED: Ending = { how: 'passed' };
const FREED: Ending = { how: 'freed' };

export function mayShare(request: AcquireRequest, { localHandOffs }: Settings): boolean {
  const { kind, stays, candidate, terms } = request;
  const isMutex = kind === 'mutex' && stays !== true && candidate !== true;
  const alone = terms.owner !== '' || !terms.renew || terms.wait === 0;
  return isMutex && !alone && localHandOffs > 0;
}

export interface RootsParts {
  readonly settings: Settings;
  readonly suspend: SuspendDetector;
  readonly watchdog: Watchdog;
  readonly telemetry: Telemetry;
  readonly lasting: Lasting;
  readonly ids: { next(sleeps: number): string };
  readonly sender: AcquireSender;
  readonly pending: Chain<Acquisition>;
  /** Ends a root without tasks here. Returns the function that withdraws it from the store. */
  readonly leave: (root: Acquisition) => () => void;
  readonly pollNow: (key: string) => void;
}

export class Roots implements RootQueueEvents {
  readonly #parts: RootsParts;
  readonly #clock: Clock;
  #queues = new Map<string, KeyQueue>();
  #most = IDLE_MAX;
  readonly groups: FairGroups = new FairGroups((group) => this.#askTogether(group));
  readonly #limits: Limits<RootQueue> = {
    giveUp: (task, error) => this.#giveUp(task, error),
    ask: (task) => this.#askOnceMore(task),
  };

  constructor(parts: RootsParts) {
    this.#parts = parts;
    this.#clock = parts.settings.clock;
  }

  acquire(request: AcquireRequest, now: Moment): Promise<Hold | null> {
    const { maxQueue } = this.#parts.settings;
    const queues = this.#queues.get(request.key) ?? this.#open(request.key);
    const length = queues.tasks < maxQueue ? 0 : lengthOf(queues);
    if (length >= maxQueue)
      return Promise.reject(failures.refused(request, { status: 'full', now: 0, length }));
    const found = queues.find(request.terms, this.#parts.settings.localHandOffs);
    const queue = found ?? this.#begin(queues, request);
    const task = new Call(request, queue, now.at);
    limitWait(task, this.#clock, this.#limits);
    queue.add(task);
    // a lease whose time is over ends here, and the task asks anew
    if (queue.root !== undefined) this.#parts.watchdog.believes(queue.root.hold, now);
    if (queue.entry === undefined && queue.root === undefined) this.#askOrGather(queue, now);
    else if (queue.heard) request.onProgress?.(undefined);
    if (queue.root !== undefined) this.waits(queue);
    return task.promise;
  }

  #askOnceMore({ via: queue }: Task): void {
    queue.overdue = true;
    if (queue.deaf && queue.entry !== undefined) this.#parts.sender.ask(queue.entry);
    else this.#parts.pollNow(queue.key);
  }

  /** How a root ends whose hold is released now. */
  end(root: Root, certainty: Certainty, now: Moment): Ending {
    const { observer: queue } = root;
    if (!(queue instanceof RootQueue)) return FREED;
    if (queue.of.tasks === 0) {
      queue.root = undefined;
      root.observer = undefined;
      if (queue.owed.length > 0) queue.withdraw();
      this.tidy(queue);
      return FREED;
    }
    if (certainty === 'held' && this.#pass(queue, root, now.at)) return PASSED;
    // the store would grant the lock to an entry that is not withdrawn before
    if (queue.owed.length > 0) queue.withdraw();
    // while it is released already, the other tasks ask anew when it has ended
    if (certainty === 'releasing') return FREED;
    queue.root = undefined;
    root.observer = undefined;
    if (queue.size > 0) return { how: 'turned', next: this.#next(queue, now) };
    this.tidy(queue);
    const group = certainty === 'held' ? this.#joins(root) : undefined;
    return group === undefined ? FREED : { how: 'joined', group };
  }

  /** Hands a certainly held root to the next task; false if it must not be handed off. */
  #pass(queue: RootQueue, root: Root, now: number): boolean {
    const group = queue.size === 0 ? this.#neighbour(queue, root) : undefined;
    const next = queue.first ?? group?.first;
    if (next === undefined || !this.#mayHandOff(queue.since, root, now)) return false;
    if (group?.entry !== undefined) {
      const { entry } = group;
      queue.absorb(group, entry);
      // in this order: an entry that ends rejects the tasks that it still has
      queue.owed.push(this.#parts.leave(entry));
      this.groups.owes(queue);
    }
    const hold = root.pass(next.request.terms, now);
    this.#parts.watchdog.passed(root, now);
    root.telemetry.granted(hold, 'local');
    queue.granted(hold);
    return true;
  }

  /**
   * The group that gathers now, if the root can end together with its request. So the task that
   * releases may join that group, if it asks again in the same step.
   */
  #joins({ key, hold }: Root): RootQueue | undefined {
    const group = this.groups.next(key);
    if (group === undefined || group.size === 0) return undefined;
    return group.end === undefined && group.suits(hold.terms) ? group : undefined;
  }

  *waiting(): Iterable<readonly [key: string, count: number]> {
    for (const [key, { tasks }] of this.#queues) if (tasks > 0) yield [key, tasks];
  }

  localWaiters(key: string): number {
    let count = 0;
    for (const { entry, root, size } of this.#queues.get(key)?.all() ?? []) {
      if (root !== undefined) count += size;
      else if (entry !== undefined && entry.ticket !== 0) count += size - 1;
    }
    return count;
  }

  rejectBehindLeases(error: (key: string) => HoldfastError): void {
    this.groups.askNow();
    for (const queues of [...this.#queues.values()]) {
      for (const queue of [...queues.all()]) {
        queue.stopTimer();
        if (queue.entry === undefined) queue.rejectAll(error(queue.key));
      }
    }
  }

  /**
   * Asks the store once in a claim window about a lease behind which tasks wait, and tells it their
   * number: the lease may have ended there without a push. A root that is handed on does not get
   * that old.
   */
  waits(queue: RootQueue): void {
    const { lasting, settings } = this.#parts;
    queue.timer ??= this.#clock.after(settings.claimWindow, () => {
      queue.timer = undefined;
      const { root, first } = queue;
      if (root === undefined || first === undefined) return;
      const waited = this.#clock.now() - first.arrived;
      const { telemetry } = this.#parts;
      if (waited >= settings.longWait) telemetry.warn('waits', first.request, waited, root.hold);
      telemetry.warn('queue', queue.key, queue.size);
      const isOld = this.#clock.now() - queue.since >= settings.claimWindow;
      if (isOld) lasting.report(root, queue.size);
      this.waits(queue);
    });
  }

  /** See the conditions in decisions 10, 22 and 26. */
  #mayHandOff(since: number, root: Root, now: number): boolean {
    const { hold, reserved: handOffs, storeUntil, ttl } = root;
    const { index, terms } = hold;
    const { claimWindow } = this.#parts.settings;
    const left = storeUntil - now;
    const window = index < UNTIMED ? claimWindow : Math.min(BATCH_MS, claimWindow);
    // the hand-offs of a fair root delay no other process: its tasks are first in the queue
    const inWindow = handOffs > 0 && (terms.fair || now - since < window);
    // an extended lease would delay other processes for longer than the next task asked
    return inWindow && left >= Math.min(claimWindow, ttl) / 2 && left <= ttl;
  }

  #giveUp(task: Task, error: HoldfastError): void {
    if (task.settled) return;
    const { via: queue } = task;
    queue.remove(task);
    task.fail(error);
    if (queue.size === 0 && queue.entry !== undefined) this.#leave(queue.entry);
    // a root that was to end with the request of this group ends now
    if (queue.size === 0 && queue.end !== undefined) this.groups.askAlone(queue);
    this.tidy(queue);
  }

  /** The one behind it is behind the one before it now. */
  #leave(entry: Acquisition): void {
    const { ahead, id, queue } = entry;
    const other = queue?.of.behind(id)?.entry;
    const withdraw = this.#parts.leave(entry);
    other?.standsBehind(ahead);
    withdraw();
  }

  /** The group directly behind a fair root in the queue, if its fences suffice. */
  #neighbour({ of, fair, run }: RootQueue, { hold, reserved }: Root): RootQueue | undefined {
    if (!fair) return undefined;
    for (const id of run) {
      const group = of.behind(id);
      if (group?.entry?.isCertain !== true || group.size > reserved) continue;
      if (group.suits(hold.terms)) return group;
    }
    return undefined;
  }

  /** Its other tasks would lose their place after its end. */
  askBefore(root: Root): void {
    const { observer: queue } = root;
    if (!(queue instanceof RootQueue) || queue.root !== root || queue.size === 0) return;
    queue.root = undefined;
    root.observer = undefined;
    this.#ask(queue, this.#parts.suspend.moment());
  }

  /** The lease was lost or given up: the other tasks ask in the order of their arrival. */
  left(queue: RootQueue): void {
    if (queue.size > 0) this.#ask(queue, this.#parts.suspend.moment());
    this.tidy(queue);
  }

  #askOrGather(queue: RootQueue, now: Moment): void {
    const { fair, key } = queue;
    if (fair) {
      if (this.groups.has(queue)) return;
      if (queue.of.fair > 1) return this.groups.gather(queue);
    }
    if (this.groups.ends) this.groups.askNow(key);
    this.#ask(queue, now);
  }

  #askTogether(group: RootQueue): void {
    const { end } = group;
    group.end = undefined;
    const isEmpty = group.size === 0;
    const now = this.#parts.suspend.moment();
    if (end !== undefined) end.sendLater(isEmpty ? undefined : this.#next(group, now));
    else if (!isEmpty) this.#ask(group, now);
    this.tidy(group);
  }

  #ask(queue: RootQueue, now: Moment): void {
    this.#parts.sender.ask(this.#next(queue, now), now);
  }

  #next(queue: RootQueue, moment: Moment): Acquisition {
    const { request } = queue.first as Task;
    const { ids, sender } = this.#parts;
    const entry = new Acquisition(sender, ids.next(moment.sleeps), request, moment, queue);
    queue.entry = entry;
    queue.open = !queue.fair;
    this.#parts.pending.add(entry);
    return entry;
  }

  #open(key: string): KeyQueue {
    if (this.#queues.size >= this.#most) this.#forgetIdle();
    const queues = new KeyQueue();
    this.#queues.set(key, queues);
    return queues;
  }

  #begin(queues: KeyQueue, request: AcquireRequest): RootQueue {
    const queue = new RootQueue(queues, request, this.#parts, this);
    queues.add(queue);
    return queue;
  }

  tidy(queue: RootQueue): void {
    if (queue.size > 0 || queue.entry !== undefined || queue.root !== undefined) return;
    if (queue.timer !== undefined) queue.stopTimer();
    if (queue.fair || queue.of.shared.length > 1) queue.of.remove(queue);
  }

  /**
   * The rest goes into a new map: an old one would keep the objects alive that it had, see
   * `base/chain.ts`.
   */
  #forgetIdle(): void {
    this.#queues = new Map([...this.#queues].filter(([, queues]) => !queues.idle));
    this.#most = 2 * this.#queues.size + IDLE_MAX;
  }
}

/** The tasks that wait, and are known not to be granted. */
function lengthOf(queues: KeyQueue): number {
  let length = 0;
  for (const queue of queues.all()) {
    // the first task of a new root does not wait yet, as far as is known
    length += queue.size - (queue.entry !== undefined && !queue.entry.heard ? 1 : 0);
  }
  return length;
}
