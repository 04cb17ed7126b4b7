/**
 * The local calls that wait for one generation of a gate, and their poll timer. It fires within a
 * third of the lifetime of their arrivals, and once per claim window: a lost push delays them by no
 * more (I5).
 */
import type { Clock, Timer } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import { growing } from '../../base/retry.js';
import type { GateWaiter } from './gate-waiter.js';

/** The store must have passed an expected end. */
const PAST_END_MS = 1;
/** The pauses after polls without an answer: the push may be lost too. */
const AGAIN = growing(100, 5000);

export class GateQueue {
  readonly waiters: Set<GateWaiter> = new Set();
  polling = false;
  readonly #clock: Clock;
  readonly #poll: (line: GateQueue) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;
  #failures = 0;

  constructor(clock: Clock, poll: (line: GateQueue) => void) {
    this.#clock = clock;
    this.#poll = poll;
  }

  period(claimWindow: number, pushed: boolean): number {
    let period = claimWindow;
    for (const { subject } of this.waiters) period = Math.min(period, subject.ttl / 3);
    return pushed ? period : period / 4;
  }

  /** Plans the next poll, in `next` µs (0: nothing is due) or after the period. */
  plan(next: Micros, period: number): void {
    if (this.waiters.size === 0) return;
    const due = next === 0 ? period : Math.min(next / 1000 + PAST_END_MS, period);
    const at = this.#clock.now() + due;
    if (at >= this.#pollAt) return;
    this.disarm();
    this.#pollAt = at;
    this.#timer = this.#clock.after(due, () => this.look());
  }

  heard(): void {
    this.#failures = 0;
  }

  /** Polls soon after a poll without an answer, not later than after the period. */
  pollAgain(period: number): void {
    this.#failures += 1;
    this.plan(0, Math.min(AGAIN(this.#failures), period));
  }

  look(): void {
    this.disarm();
    this.#poll(this);
  }

  disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}
