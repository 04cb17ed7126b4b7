/**
 * The waiters of each key in this process, in order of arrival, and their polls.
 *
 * Push makes hand-off fast, polling makes it certain (I5). The timer of a key fires just after the
 * current lease ends if it is not renewed, and at least once per claim window, so that a grant to a
 * frozen process is noticed. Far from the head of the queue, the store allows a longer pause, see
 * `engine/idle.ts`.
 */
import type { Clock, Timer } from '../base/clock.js';
import type { Settings } from '../base/options.js';
import type { Micros, Standing } from '../engine/commands.js';
import type { Moment, SuspendDetector } from '../lease/local-time.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Requests } from '../store/requests.js';
import type { Wake } from '../store/wake-channel.js';
import type { Acquisition } from './acquisition.js';
import { beliefMs } from './pushes.js';
import type { ReplyDelay } from './reply-delay.js';

const POLL_MAX = 1000;
/** The pause if the lock is free: one command does not serve all waiters. */
const SERVED_IN_PART_MS = 2;
/** A timer fires about so much late, so a poll at a lease's end is planned earlier. */
const TIMER_LATE_MS = 0.5;
const TIMER_MS_MIN = 1;

export class PollQueue {
  readonly key: string;
  added = 0;
  polling = false;
  readonly #acquisitions = new Set<Acquisition>();
  readonly #clock: Clock;
  readonly #poll: (queue: PollQueue) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;
  #paused = false;

  constructor(key: string, clock: Clock, poll: (queue: PollQueue) => void) {
    this.key = key;
    this.#clock = clock;
    this.#poll = poll;
  }

  get size(): number {
    return this.#acquisitions.size;
  }

  acquisitions(): IterableIterator<Acquisition> {
    return this.#acquisitions.values();
  }

  get asleep(): boolean {
    for (const acquisition of this.#acquisitions) if (!acquisition.asleep) return false;
    return true;
  }

  add(acquisition: Acquisition): boolean {
    if (this.#acquisitions.has(acquisition)) return false;
    this.#acquisitions.add(acquisition);
    acquisition.polled = this;
    this.added += 1;
    return true;
  }

  remove(acquisition: Acquisition): boolean {
    if (!this.#acquisitions.delete(acquisition)) return false;
    acquisition.polled = undefined;
    if (this.#acquisitions.size === 0) this.#disarm();
    return true;
  }

  /**
   * @param next microseconds until the current lease may end, as the store just said; 0 if the lock
   *   is free
   * @param late in ms, for a poll at the end of a lease, see `reply-delay.ts`
   */
  plan(next: number, period: number, late = 0): void {
    if (this.#acquisitions.size === 0) return;
    const due =
      next === 0 ? SERVED_IN_PART_MS : Math.max(TIMER_MS_MIN, next / 1000 - TIMER_LATE_MS) + late;
    const ms = Math.min(due, period);
    const at = this.#clock.now() + ms;
    if (at >= this.#pollAt) return;
    this.#disarm();
    this.#pollAt = at;
    this.#timer = this.#clock.after(ms, () => this.#look());
  }

  #look(): void {
    this.#disarm();
    this.#poll(this);
  }

  /** @param pause that the store allowed, in ms */
  rest(pause: number): void {
    this.#disarm();
    this.plan(Number.POSITIVE_INFINITY, pause);
    this.#paused = true;
  }

  wakeUp(): void {
    if (this.#paused) this.#look();
  }

  pollNow(): void {
    if (!this.polling) this.#look();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#paused = false;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}

export interface PollQueuesParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly suspend: SuspendDetector;
  readonly telemetry: Telemetry;
  readonly wake: Wake;
  readonly replyDelay: ReplyDelay;
  readonly replies: {
    onStatus(acquisition: Acquisition, standing: Standing, sent: Moment, now: Micros): void;
    onFailure(acquisition: Acquisition, error: unknown): void;
  };
  readonly ask: (acquisition: Acquisition) => void;
}

export class PollQueues {
  readonly #parts: PollQueuesParts;
  readonly #queues = new Map<string, PollQueue>();

  constructor(parts: PollQueuesParts) {
    this.#parts = parts;
  }

  /** The waiter has a place in the store. */
  join(acquisition: Acquisition, next: Micros): void {
    const { settings, wake, ask } = this.#parts;
    const { key } = acquisition.request;
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = new PollQueue(key, settings.clock, (due) => this.#poll(due));
      this.#queues.set(key, queue);
    }
    if (queue.add(acquisition)) wake.enter();
    if (acquisition.channel !== wake.channel) ask(acquisition);
    this.#plan(queue, next, together(this.#parts.settings, [acquisition]));
  }

  leave(acquisition: Acquisition): void {
    const queue = acquisition.polled;
    if (queue?.remove(acquisition) !== true) return;
    if (queue.size === 0) this.#queues.delete(queue.key);
    this.#parts.wake.leave();
  }

  get size(): number {
    let all = 0;
    for (const queue of this.#queues.values()) all += queue.size;
    return all;
  }

  wakeUp(key: string): void {
    this.#queues.get(key)?.wakeUp();
  }

  pollNow(key: string): void {
    this.#queues.get(key)?.pollNow();
  }

  #poll(queue: PollQueue): void {
    this.#warn(queue);
    queue.polling = true;
    void this.#pollAll(queue).finally(() => (queue.polling = false));
  }

  #warn(queue: PollQueue): void {
    const { settings, telemetry, wake } = this.#parts;
    const { longWait, claimWindow } = settings;
    const now = settings.clock.now();
    let size = 0;
    let oldest: Acquisition | undefined;
    for (const acquisition of queue.acquisitions()) {
      if (acquisition.asleep) continue;
      if (acquisition.request.candidate !== true) oldest ??= acquisition;
      const waited = Math.max(now - acquisition.arrived, acquisition.queue?.waited(now) ?? 0);
      const isDeaf = size === 0 && wake.channel === '' && waited >= claimWindow;
      if (isDeaf) telemetry.warn('polls', queue.key, wake.failure);
      if (oldest === acquisition && waited >= longWait)
        telemetry.warn('waits', acquisition.taker, waited);
      size += Math.max(1, acquisition.queue?.size ?? 0);
    }
    telemetry.warn('queue', queue.key, size);
  }

  /**
   * A waiter that the store knows with another channel or number of tasks asks again. If the store
   * allows a pause to all, the next poll follows after it.
   */
  async #pollAll(queue: PollQueue): Promise<void> {
    const { settings, wake, ask } = this.#parts;
    const all = together(settings, queue.acquisitions());
    const period = Math.floor(this.#period(this.#usual(all)));
    queue.plan(Number.POSITIVE_INFINITY, period);
    const polled: Acquisition[] = [];
    const { added, size } = queue;
    for (const acquisition of queue.acquisitions()) {
      const { channel, told } = acquisition;
      const isKnown = channel === wake.channel && told === (acquisition.queue?.size ?? 0);
      if (!isKnown) ask(acquisition);
      else polled.push(acquisition);
    }
    const looks: Promise<number>[] = [];
    for (let from = 0; from < polled.length; from += POLL_MAX) {
      looks.push(this.#look(queue, polled.slice(from, from + POLL_MAX), all, period));
    }
    const pause = Math.min(...(await Promise.all(looks)));
    // a waiter that came meanwhile polls in its own period
    if (pause === 0 || polled.length < size || queue.added > added) return;
    for (const acquisition of queue.acquisitions()) acquisition.heardAt += pause - period;
    // those that began to wait together do not poll together
    const part = queue.asleep ? 0.75 + settings.randomSource.fraction() / 4 : 1;
    queue.rest(pause * part);
  }

  /** Resolves to the allowed pause. */
  async #look(
    queue: PollQueue,
    polled: readonly Acquisition[],
    all: Together,
    usualPeriod: number,
  ): Promise<number> {
    const ids = polled.map(({ id }) => id);
    const { requests, settings, suspend, telemetry, wake, replies, replyDelay } = this.#parts;
    const { retention } = settings;
    const patience = replyDelay.patience(wake.period(all.claim, Infinity));
    // without pushes, a store ends no pause
    const mayRest = wake.channel !== '' || (wake.mute && !queue.asleep);
    const period = mayRest ? usualPeriod : 0;
    const sent = suspend.moment();
    telemetry.pollings += 1;
    const connection = requests.connection();
    const asked = { key: queue.key, ids, patience, period, retention };
    try {
      const reply = await requests.send({ op: 'poll', ...asked });
      const now = settings.clock.now();
      replyDelay.took(now - sent.at, now);
      const isSame = requests.isSame(connection);
      for (const [index, standing] of reply.standings.entries()) {
        const acquisition = polled[index] as Acquisition;
        if (isSame && acquisition.hadLease()) continue;
        replies.onStatus(acquisition, standing, sent, reply.now);
      }
      // condition waiters have nothing to poll for when a lease ends
      const next = queue.asleep ? Number.POSITIVE_INFINITY : reply.next;
      if (reply.pause === 0) this.#plan(queue, next, all);
      return reply.pause;
    } catch (error) {
      for (const acquisition of polled) replies.onFailure(acquisition, error);
      return 0;
    }
  }

  #plan(queue: PollQueue, next: Micros, all: Together): void {
    const usual = this.#usual(all);
    const period = this.#period(usual);
    queue.plan(next, period, period - usual);
  }

  #period(usual: number): number {
    const { settings, wake, replyDelay } = this.#parts;
    const belief = wake.channel === '' ? undefined : beliefMs(settings.claimWindow);
    return replyDelay.period(usual, belief);
  }

  #usual({ claim, latest }: Together): number {
    const { settings, wake } = this.#parts;
    return wake.period(claim, settings.clock.now() - latest);
  }
}

/** The shortest claim window, and the last arrival. */
interface Together {
  readonly claim: number;
  readonly latest: number;
}

function together({ claimWindow }: Settings, acquisitions: Iterable<Acquisition>): Together {
  let claim = claimWindow;
  let latest = Number.NEGATIVE_INFINITY;
  for (const { request, arrived } of acquisitions) {
    claim = Math.min(claim, request.terms.ttl);
    latest = Math.max(latest, arrived);
  }
  return { claim, latest };
}
