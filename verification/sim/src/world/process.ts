/**
 * A process handles its events (a timer, a message, the start of a task) one at a time, and none
 * while it is stopped, busy or suspended. A dead process handles no event.
 *
 *     alive --crash, exit--> dead
 *
 * A stopped process gets all its events at once when it continues; their order is random, as on a
 * real machine. Code that computes without yielding advances the process's own time (`work`): its
 * messages leave at that time.
 */
import type { Clock, Timer } from '../../../../packages/holdfast/dist/base/clock.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Machine } from './machine.js';

export type Kind = 'timer' | 'message' | 'task';

interface Delivery {
  readonly kind: Kind;
  readonly run: () => void;
}

/** Timers may fire this much too early, as with an event loop that counts whole milliseconds. */
const EARLY_MS = 0.9;

export class Process implements Clock {
  readonly name: string;
  readonly machine: Machine;
  alive = true;
  /** Timers of the library that are set, by their numbers. */
  readonly timers: Set<number> = new Set();
  /** The number of the next timer. */
  nextTimer = 1;
  /** The time since which no outside fault has affected it. */
  undisturbedSince = 0;
  /** The same, without lost replies: since then its requests have arrived. */
  heardSince = 0;
  /** The time at which its connection opened; infinite while there is none. */
  connectedSince: number = Number.POSITIVE_INFINITY;
  /** The last time at which it read its wall clock. */
  readAt = 0;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #busyUntil = 0;
  /** By how much an event is late if it comes while no other one waits, on average. */
  #lag = 0;
  #deferred: Delivery[] = [];
  #resuming = false;

  constructor(name: string, machine: Machine, scheduler: Scheduler, random: Random) {
    this.name = name;
    this.machine = machine;
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** The true time at which its code runs. */
  get time(): number {
    return Math.max(this.#scheduler.now, this.#busyUntil);
  }

  /** The next time at which it can handle an event. */
  get freeAt(): number {
    return Math.max(this.#busyUntil, this.machine.asleepUntil);
  }

  get stopped(): boolean {
    return this.freeAt > this.#scheduler.now || this.#deferred.length > 0;
  }

  now(): number {
    return this.machine.mono(this.time);
  }

  wall(): number {
    this.readAt = this.time;
    return this.machine.wall(this.time);
  }

  /** A timer of the library. */
  after(ms: number, callback: () => void): Timer {
    const number = this.nextTimer;
    this.nextTimer += 1;
    this.timers.add(number);
    const end = (): void => void this.timers.delete(number);
    const timer = this.later(ms, () => {
      end();
      callback();
    });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  /** A timer of other code. */
  later(ms: number, callback: () => void): Timer {
    const late = this.#random.chance(0.02)
      ? this.#random.between(0, 25)
      : this.#random.between(-EARLY_MS, 1);
    const due = this.now() + Math.max(1, Math.ceil(ms)) + late;
    let set = true;
    const wait = (): void => {
      this.#scheduler.at(this.machine.timeOf(due), () => {
        if (set) this.deliver('timer', fire);
      });
    };
    const fire = (): void => {
      if (!set) return;
      // the machine was suspended, or its clock runs slower than before
      if (this.now() < due - 1e-3) return wait();
      set = false;
      callback();
    };
    wait();
    return {
      cancel: () => {
        set = false;
      },
    };
  }

  /** Resolves after a time on its own clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.later(ms, resolve);
    });
  }

  /** Calls back after all events that have arrived so far. */
  afterIo(callback: () => void): void {
    this.#scheduler.at(this.time, () => this.deliver('task', callback));
  }

  /** Resolves in a later turn of its event loop. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#scheduler.at(this.time, () => this.deliver('task', resolve));
    });
  }

  /** Runs a callback in it: now, or as soon as it can. */
  deliver(kind: Kind, run: () => void): void {
    if (!this.alive) return;
    if (this.#lag > 0 && !this.stopped)
      this.#busyUntil = this.time + this.#random.between(0, 2 * this.#lag);
    if (!this.stopped) {
      run();
      return;
    }
    this.#deferred.push({ kind, run });
    this.#resume();
  }

  /** Its code computes, and its event loop is blocked. */
  work(ms: number): void {
    this.#busyUntil = this.time + ms;
    this.disturb(this.#busyUntil);
  }

  /** Another process stops it. */
  stop(ms: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, this.#scheduler.now + ms);
    this.disturb(this.#busyUntil);
  }

  /** Other programs use its processor too. It never counts as undisturbed then. */
  slow(lag: number): void {
    this.#lag = lag;
    this.disturb(Number.POSITIVE_INFINITY);
  }

  crash(): void {
    this.alive = false;
    this.#deferred = [];
  }

  /** An outside fault affects it until a time. */
  disturb(until: number): void {
    this.heardSince = Math.max(this.heardSince, until);
    this.mute(until);
  }

  /** It gets no reply until a time. */
  mute(until: number): void {
    this.undisturbedSince = Math.max(this.undisturbedSince, until);
  }

  #resume(): void {
    if (this.#resuming) return;
    this.#resuming = true;
    const first = this.#random.pick(['timer', 'message', 'any'] as const);
    this.#scheduler.at(this.freeAt, () => this.#next(first));
  }

  #next(first: Kind | 'any'): void {
    this.#resuming = false;
    if (this.#deferred.length === 0) return;
    if (this.freeAt > this.#scheduler.now) return this.#resume();
    const found = this.#deferred.findIndex(({ kind }) => kind === first);
    const [delivery] = this.#deferred.splice(Math.max(0, found), 1);
    if (this.#deferred.length > 0) {
      this.#resuming = true;
      this.#scheduler.at(this.#scheduler.now, () => this.#next(first));
    }
    delivery?.run();
  }
}
