/** The local queues of this process: one for each key with a local waiter. */
import type { Clock } from '../clock.js';
import type { Micros } from '../engine/commands.js';
import type { AcquireSender } from './acquire-sender.js';
import { LocalQueue } from './local-queue.js';
import type { Acquisition } from './acquisition.js';
import type { Wake } from '../store/wake-channel.js';

export class LocalQueues {
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly #sender: AcquireSender;
  readonly #queues = new Map<string, LocalQueue>();

  constructor(clock: Clock, wake: Wake, sender: AcquireSender) {
    this.#clock = clock;
    this.#wake = wake;
    this.#sender = sender;
  }

  get(key: string): LocalQueue | undefined {
    return this.#queues.get(key);
  }

  /** Adds a waiter that has a place in the store. `next` as in `LocalQueue.plan`. */
  join(acquisition: Acquisition, next: Micros): void {
    const { key } = acquisition.request;
    let line = this.#queues.get(key);
    if (line === undefined) {
      line = new LocalQueue(key, this.#clock, (due) => this.#sender.poll(due));
      this.#queues.set(key, line);
    }
    if (line.add(acquisition)) this.#wake.enter();
    // the wake channel opened while its request was under way
    if (acquisition.channel !== this.#wake.channel) void this.#sender.ask(acquisition);
    line.plan(next, this.#sender.period([acquisition]));
  }

  leave(acquisition: Acquisition): void {
    const line = this.#queues.get(acquisition.request.key);
    if (line === undefined || !line.remove(acquisition)) return;
    if (line.size === 0) this.#queues.delete(line.key);
    this.#wake.leave();
  }
}
