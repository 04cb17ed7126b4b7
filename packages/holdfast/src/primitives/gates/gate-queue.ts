/**
 * The local calls that wait for one generation of a gate, and their poll timer. It fires within a
 * third of the lifetime of their arrivals (0.6 if many wait), and once in each period: a lost push
 * delays them by no more (I5). A period is a claim window, or longer if many processes wait
 * ([decision 4](../../../../../docs/decisions/0004-dead-and-frozen-waiters.md)).
 */
import type { Clock, Timer } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Settings } from '../../base/options.js';
import { growing } from '../../base/retry.js';
import type { Wake } from '../../store/wake-channel.js';
import type { GateWaiter } from './gate-waiter.js';

/** The store must have passed an expected end. */
const PAST_END_MS = 1;
const AGAIN = growing(100, 5000);
/** The polls of all processes in a claim window, while no period is the longest. */
const POLLS = 64;
const WINDOWS_MAX = 20;

export class GateQueue {
  readonly waiters: Set<GateWaiter> = new Set();
  polling = false;
  /** How many processes wait, as the store said last. */
  crowd = 0;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #poll: (line: GateQueue) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #ttl = Number.POSITIVE_INFINITY;
  #latest = 0;
  /** Of the present period, in [0, 1). */
  #luck: number | undefined;

  constructor(settings: Settings, poll: (line: GateQueue) => void) {
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#poll = poll;
  }

  add(waiter: GateWaiter): void {
    this.waiters.add(waiter);
    this.#ttl = Math.min(this.#ttl, waiter.subject.ttl);
    this.#latest = Math.max(this.#latest, waiter.calledAt);
  }

  period(wake: Wake): number {
    const { claimWindow, randomSource } = this.#settings;
    if (wake.channel === '' || this.rest === 0) {
      return wake.period(Math.min(claimWindow, this.#ttl / 3), this.#clock.now() - this.#latest);
    }
    // those that began to wait together do not poll together
    this.#luck ??= randomSource.fraction();
    return Math.min(this.rest * (0.6 + 0.4 * this.#luck), this.#ttl * (0.5 + 0.1 * this.#luck));
  }

  /** The longest period of a process in a crowd, in ms; 0 without a crowd. */
  get rest(): number {
    const windows = Math.min(WINDOWS_MAX, (1.25 * this.crowd) / POLLS);
    return windows <= 1 ? 0 : windows * this.#settings.claimWindow;
  }

  /** Plans the next poll, in `next` µs (0: nothing is due) or after the period. */
  plan(next: Micros, period: number): void {
    if (this.waiters.size === 0) return;
    const { claimWindow, randomSource } = this.#settings;
    const late = this.rest === 0 ? 0 : claimWindow * randomSource.fraction();
    const due = next === 0 ? period : Math.min(next / 1000 + PAST_END_MS + late, period);
    const at = this.#clock.now() + due;
    if (at >= this.#pollAt) return;
    this.disarm();
    this.#pollAt = at;
    this.#timer = this.#clock.after(due, () => this.look());
  }

  heard(): void {
    this.#failures = 0;
  }

  /** Plans the poll after one without an answer. */
  pollAgain(period: number): void {
    this.#failures += 1;
    this.plan(0, Math.min(AGAIN(this.#failures), period));
  }

  look(): void {
    this.disarm();
    this.#luck = undefined;
    this.#poll(this);
  }

  disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}
