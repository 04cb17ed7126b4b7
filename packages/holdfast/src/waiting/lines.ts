/** The lines of this process, one for each key that somebody waits for here. */
import type { Clock } from '../clock.js';
import type { Micros } from '../engine/types.js';
import type { Asker } from './asker.js';
import { Line } from './line.js';
import type { Waiter } from './waiter.js';
import type { Wake } from './wake.js';

export class Lines {
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly #asker: Asker;
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock, wake: Wake, asker: Asker) {
    this.#clock = clock;
    this.#wake = wake;
    this.#asker = asker;
  }

  get(key: string): Line | undefined {
    return this.#lines.get(key);
  }

  /** A waiter has its place in the store. `next` as in `Line.plan`. */
  join(waiter: Waiter, next: Micros): void {
    const { key } = waiter.wanted;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line(key, this.#clock, (due) => this.#asker.poll(due));
      this.#lines.set(key, line);
    }
    if (line.add(waiter)) this.#wake.enter();
    // the channel came up while its request was on its way
    if (waiter.channel !== this.#wake.channel) void this.#asker.ask(waiter);
    line.plan(next, this.#asker.period([waiter]));
  }

  leave(waiter: Waiter): void {
    const line = this.#lines.get(waiter.wanted.key);
    if (line === undefined || !line.remove(waiter)) return;
    if (line.size === 0) this.#lines.delete(line.key);
    this.#wake.leave();
  }
}
