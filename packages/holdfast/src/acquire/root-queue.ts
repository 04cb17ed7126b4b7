/**
 * Tasks of this process that wait for one mutex with the same terms. They share a root, see
 * `roots.ts`.
 *
 *     (empty)   --first task--> entry asked, queued --grant--> lease of the oldest task
 *         ^                          ^    ^                      |  |  \--hand-off--> next task
 *         |                          |    \--loss: asked anew----/  |
 *         |                          \--------turn: next entry------/
 *         \--no task, no entry, no lease
 *
 * At most one of `entry` and `root` is set. Tasks that arrive meanwhile wait here, except for fair
 * ones: their place in the queue of the store is that of their own arrival. So a fair `RootQueue`
 * is a group of tasks that arrived in one step of the program, see `fair-groups.ts`.
 */
import { Chain } from '../base/chain.js';
import type { Clock, Timer } from '../base/clock.js';
import type { Hold, Root, RootObserver } from '../lease/root.js';
import { DRIFT, type SuspendDetector } from '../lease/local-time.js';
import type { ResolvedAcquireOptions, Settings } from '../base/options.js';
import * as failures from './failures.js';
import type { Acquisition } from './acquisition.js';
import type { RootEnd } from './releaser.js';
import { type AcquireRequest, type Call, endOfWait, type Waited } from './call.js';

export interface RootQueueEvents {
  waits(queue: RootQueue): void;
  /** The queue has neither an entry nor a lease. */
  left(queue: RootQueue): void;
  /** The entry ended without a grant, and all tasks with it. */
  tidy(queue: RootQueue): void;
}

/** Its limits end only this call: the root goes on while another one waits. */
export type Task = Call<RootQueue>;

export class RootQueue extends Chain<Task> implements RootObserver, Waited {
  readonly of: KeyQueue;
  readonly key: string;
  readonly fair: boolean;
  /** Further tasks may join: always, or until the first request of a fair group. */
  open = true;
  /** Fair: the end of another root, which is sent with the request of this group. */
  end: RootEnd | undefined;
  /** Fair: the id of the root, and those of the entries whose tasks it serves too. */
  run: string[] = [];
  entry: Acquisition | undefined;
  since = 0;
  /** Fair: the place that its tasks have had in the queue of the store; 0 if unknown. */
  ticket = 0;
  root: Root | undefined;
  overdue = false;
  timer: Timer | undefined;
  readonly #ttl: number;
  readonly #maxHold: number;
  readonly #events: RootQueueEvents;
  readonly #clock: Clock;
  readonly #suspend: SuspendDetector;
  /** After this time the last answer of the store says nothing any more. */
  readonly #staleAfter: number;
  #served = false;
  /** Fair: each withdraws an entry whose tasks its root serves. It must not end before. */
  readonly owed: (() => void)[] = [];

  constructor(
    of: KeyQueue,
    { key, terms }: AcquireRequest,
    { settings, suspend }: { settings: Settings; suspend: SuspendDetector },
    events: RootQueueEvents,
  ) {
    super();
    this.of = of;
    this.key = key;
    this.fair = terms.fair;
    this.#clock = settings.clock;
    this.#suspend = suspend;
    // an entry is polled once in a claim window
    this.#staleAfter = settings.claimWindow + settings.requestTimeout;
    this.#ttl = terms.ttl;
    this.#maxHold = terms.maxHold;
    this.#events = events;
  }

  /** A lease of this queue may be handed off to a task with these terms. */
  suits({ ttl, maxHold, fair }: ResolvedAcquireOptions): boolean {
    return ttl === this.#ttl && maxHold === this.#maxHold && fair === this.fair;
  }

  /** Takes the tasks of the entry that is directly behind its root in the queue of the store. */
  absorb(group: RootQueue, { id, ticket }: Acquisition): void {
    for (const task of group.all()) {
      task.via = this;
      group.remove(task);
      this.add(task);
    }
    if (group.overdue) this.overdue = true;
    this.run.push(id);
    this.ticket = ticket;
  }

  withdraw(): void {
    for (const withdraw of this.owed.splice(0)) withdraw();
  }

  /** An old answer of the store does not count. */
  get heard(): boolean {
    const { entry } = this;
    if (entry === undefined) return true;
    const since = this.#suspend.toLocal(entry.sent);
    return entry.heard && this.#clock.now() - since <= this.#staleAfter;
  }

  get deaf(): boolean {
    return this.entry?.deaf === true;
  }

  get unsent(): boolean {
    return this.entry?.unsent === true;
  }

  get trouble(): unknown {
    return this.entry?.trouble;
  }

  placeOf(task: object): failures.Place {
    let before = 0;
    for (const one of this.all()) {
      if (one === task) break;
      before += 1;
    }
    return { ticket: this.entry?.ticket ?? 0, before, holder: this.root?.hold };
  }

  stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** For `Acquire.waited`: the oldest task has waited at least so many whole ms. */
  waited(now: number): number {
    const { first } = this;
    // the place of fair tasks is that of their request, unless they had one before
    if (first === undefined || (this.fair && !this.#served)) return 0;
    return Math.max(0, Math.floor((now - first.arrived) * (1 - DRIFT)));
  }

  get empty(): boolean {
    return this.size === 0 && this.entry === undefined && this.root === undefined;
  }

  override add(task: Task): void {
    super.add(task);
    this.of.tasks += 1;
  }

  override remove(task: Task): boolean {
    if (!super.remove(task)) return false;
    this.of.tasks -= 1;
    return true;
  }

  granted(hold: Hold, first?: Promise<void>): void {
    const task = this.first as Task;
    this.remove(task);
    this.root = hold.root;
    this.#served = true;
    if (hold.index === 0) this.since = hold.grantedAt;
    if (this.fair && hold.index === 0) this.run = [hold.id];
    task.grant(hold, first);
    if (this.size > 0 && this.timer === undefined) this.#events.waits(this);
  }

  ended(root: Root): void {
    if (this.root !== root) return;
    this.root = undefined;
    this.#events.left(this);
  }

  progress(trouble: unknown): void {
    for (const { request } of this.all()) request.onProgress?.(trouble);
  }

  failed(error: Error): void {
    this.rejectAll(error);
    this.#events.tidy(this);
  }

  rejectAll(error: Error): void {
    this.#reject(() => error);
  }

  /** Ends the tasks whose wait limit passed before the answer that has now come. */
  rejectOverdue(): void {
    this.overdue = false;
    this.#reject((task) => (task.overdue ? endOfWait(task) : undefined));
  }

  /**
   * Ends the tasks that do not wait any longer for an answer of the store.
   * @param since the store has not answered since this local time
   */
  rejectImpatient(since: number, now: number, unreachableAfter: number): void {
    this.#reject((task) => {
      const silent = now - Math.max(since, task.arrived);
      if (!task.overdue && silent < unreachableAfter) return undefined;
      return failures.unreachable(this.key, this.trouble);
    });
  }

  #reject(errorOf: (task: Task) => Error | undefined): void {
    for (const task of this.all()) {
      const error = errorOf(task);
      if (error === undefined) continue;
      this.remove(task);
      task.fail(error);
    }
  }
}

/**
 * The queues of one key in this process: one for each set of terms, and one for each group of fair
 * tasks. There may be thousands of those, so nothing that an acquisition, a hand-off or an abort
 * does loops over them. An empty queue may stay for the next acquisition.
 */
export class KeyQueue {
  tasks = 0;
  /** The queues of tasks that may be overtaken. Only this class writes it. */
  readonly shared: RootQueue[] = [];
  #fair: Set<RootQueue> | undefined;
  #last: RootQueue | undefined;
  /** The fair groups, by the id of the entry that is directly before theirs. */
  #behind: Map<string, RootQueue> | undefined;

  get fair(): number {
    return this.#fair?.size ?? 0;
  }

  *all(): Iterable<RootQueue> {
    yield* this.shared;
    if (this.#fair !== undefined) yield* this.#fair;
  }

  get idle(): boolean {
    return this.fair === 0 && this.shared.every(({ empty }) => empty);
  }

  add(queue: RootQueue): void {
    if (!queue.fair) return void this.shared.push(queue);
    this.#fair ??= new Set();
    this.#fair.add(queue);
    this.#last = queue;
  }

  remove(queue: RootQueue): void {
    if (queue.fair) {
      if (this.#last === queue) this.#last = undefined;
      this.#fair?.delete(queue);
    } else if (this.shared.includes(queue)) {
      this.shared.splice(this.shared.indexOf(queue), 1);
    }
  }

  /**
   * The queue that a task with these terms joins. The order in the store is that of the calls: a
   * fair task joins the last group, or none.
   * @param most tasks that a group has before another one joins
   */
  find(terms: ResolvedAcquireOptions, most: number): RootQueue | undefined {
    if (!terms.fair) {
      for (const queue of this.shared) if (queue.suits(terms)) return queue;
      return undefined;
    }
    const last = this.#last;
    const joins = last?.open === true && last.suits(terms) && last.size <= most;
    return joins ? last : undefined;
  }

  stands(queue: RootQueue, { ahead }: Acquisition): void {
    if (!queue.fair || ahead === '') return;
    this.#behind ??= new Map();
    this.#behind.set(ahead, queue);
  }

  gone(queue: RootQueue, { ahead }: Acquisition): void {
    if (this.#behind?.get(ahead) === queue) this.#behind.delete(ahead);
  }

  behind(id: string): RootQueue | undefined {
    return this.#behind?.get(id);
  }
}
