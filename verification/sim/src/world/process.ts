/**
 * A process: whatever reaches it (a timer, a message, the start of a task) does so one after the
 * other, and not while it is stopped, busy or asleep. A dead process is reached by nothing.
 *
 *     alive --crash, exit--> dead
 *
 * A process that was stopped finds everything at once when it goes on; which comes first is a
 * matter of luck, as it is on a real machine. Code that works without giving way moves the
 * process's own time on (`work`): what it sends leaves then.
 */
import type { Clock, Timer } from '../../../../packages/holdfast/dist/clock.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Machine } from './machine.js';

export type Kind = 'timer' | 'message' | 'task';

interface Delivery {
  readonly kind: Kind;
  readonly run: () => void;
}

/** Timers may come this much too early, as they do where the loop's time is whole milliseconds. */
const EARLY_MS = 0.9;

export class Process implements Clock {
  readonly name: string;
  readonly machine: Machine;
  alive = true;
  /** Timers of the library that are set, by their numbers. */
  readonly timers: Set<number> = new Set();
  /** The number of the next timer. */
  nextTimer = 1;
  /** Nothing of the world outside was wrong for it since. */
  undisturbedSince = 0;
  /** When its connection was made; infinite while there is none. */
  connectedSince: number = Number.POSITIVE_INFINITY;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #busyUntil = 0;
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

  /** When something could next be done here. */
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

  /** A timer of anybody else. */
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
      // the machine slept, or its clock goes slower than it did
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

  /** Calls back when all that has reached it by now has been handled. */
  afterIo(callback: () => void): void {
    this.#scheduler.at(this.time, () => this.deliver('task', callback));
  }

  /** Resolves in a later turn of its event loop. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#scheduler.at(this.time, () => this.deliver('task', resolve));
    });
  }

  /** Lets something happen in it: now, or as soon as it can. */
  deliver(kind: Kind, run: () => void): void {
    if (!this.alive) return;
    if (!this.stopped) {
      run();
      return;
    }
    this.#deferred.push({ kind, run });
    this.#resume();
  }

  /** Its code works on, and its event loop stands still. */
  work(ms: number): void {
    this.#busyUntil = this.time + ms;
    this.disturb(this.#busyUntil);
  }

  /** It is stopped from outside. */
  stop(ms: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, this.#scheduler.now + ms);
    this.disturb(this.#busyUntil);
  }

  crash(): void {
    this.alive = false;
    this.#deferred = [];
  }

  /** Something outside is wrong for it until a time. */
  disturb(until: number): void {
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
