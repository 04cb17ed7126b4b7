/**
 * Deadlines of many requests with one timer. All have the same limit, so a queue is enough: the
 * first request ends first. A timer each would cost more than the rest of the request. The
 * connection keeps the process alive, not the timer.
 *
 * Before a request expires, the sockets are read once more: after a stall of the event loop the
 * reply may be there.
 */
import { afterIo, type Clock, type Timer } from '../base/clock.js';

export interface Timed {
  readonly deadline: number;
  readonly over: boolean;
  expire(): void;
}

const SLACK = 1024;

export class Deadlines {
  readonly #clock: Clock;
  /** Used again: an array is larger than a request. */
  readonly #queue: (Timed | undefined)[] = [];
  #first = 0;
  #end = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(timed: Timed): void {
    this.#queue[this.#end] = timed;
    this.#end += 1;
    if (this.#timer === undefined) this.#arm();
  }

  tidy(): void {
    const queue = this.#queue;
    while (queue[this.#first]?.over === true) queue[this.#first++] = undefined;
    if (this.#first === this.#end) {
      if (queue.length > SLACK) queue.length = 0;
      this.#first = 0;
      this.#end = 0;
      if (this.#stopped) this.#cancel();
    } else if (this.#first >= SLACK) {
      queue.splice(0, this.#first);
      this.#end -= this.#first;
      this.#first = 0;
    }
  }

  stop(): void {
    this.#stopped = true;
    if (this.#queue[this.#first] === undefined) this.#cancel();
  }

  /** A request that comes later has a deadline too. */
  #cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    const head = this.#queue[this.#first];
    if (head === undefined || this.#timer !== undefined) return;
    const due = (): void => {
      const now = this.#clock.now();
      afterIo(this.#clock, () => this.#expire(now));
    };
    this.#timer = this.#clock.after(head.deadline - this.#clock.now(), due, true);
  }

  #expire(now: number): void {
    this.#timer = undefined;
    for (;;) {
      this.tidy();
      const head = this.#queue[this.#first];
      if (head === undefined || head.deadline > now) break;
      this.#queue[this.#first++] = undefined;
      head.expire();
    }
    this.#arm();
  }
}
