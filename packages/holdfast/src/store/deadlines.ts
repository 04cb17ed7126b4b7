/**
 * One deadline for many: the request that started first ends first, so a queue and one timer do.
 *
 * A deadline is judged after the sockets were read once more: after a stall of the event loop the
 * answer may lie there already.
 *
 * A timer for each request would cost more than the rest of it. This one does not keep the process
 * alive: the connection that a request waits for does.
 */
import { afterIo, type Clock, type Timer } from '../clock.js';

/** Something that ends at its deadline, unless it is over before. */
export interface Timed {
  readonly deadline: number;
  readonly over: boolean;
  expire(): void;
}

/** Places at the front of the queue that may be empty before it is moved up. */
const SLACK = 1024;

export class Deadlines {
  readonly #clock: Clock;
  #queue: (Timed | undefined)[] = [];
  #first = 0;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Watches something whose deadline is not before that of what was added earlier. */
  add(timed: Timed): void {
    this.#queue.push(timed);
    this.#arm();
  }

  /** Forgets what is over at the front: called whenever something ends. */
  tidy(): void {
    while (this.#queue[this.#first]?.over === true) this.#next();
    if (this.#first < SLACK) return;
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }

  /** Keeps no timer from now on while there is nothing to watch. */
  stop(): void {
    this.#stopped = true;
    if (this.#queue[this.#first] === undefined) this.#timer?.cancel();
  }

  #next(): void {
    this.#queue[this.#first] = undefined;
    this.#first += 1;
    if (this.#first < this.#queue.length) return;
    this.#queue.length = 0;
    this.#first = 0;
    if (this.#stopped) this.#timer?.cancel();
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

  /** Ends all whose deadline was before `now` and which no answer has ended since. */
  #expire(now: number): void {
    this.#timer = undefined;
    for (;;) {
      const head = this.#queue[this.#first];
      if (head === undefined || (!head.over && head.deadline > now)) break;
      this.#next();
      if (!head.over) head.expire();
    }
    this.#arm();
  }
}
