/** The local queues of this process: one for each key with a local waiter. */
import type { Clock } from '../base/clock.js';
import type { Micros } from '../engine/commands.js';
import type { AcquireSender } from './acquire-sender.js';
import { LocalQueue } from './local-queue.js';
import type { Acquisition } from './acquisition.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Wake } from '../store/wake-channel.js';

export class LocalQueues {
  readonly #clock: Clock;
  readonly #wake: Wake;
  readonly #sender: AcquireSender;
  readonly #telemetry: Telemetry;
  readonly #queues = new Map<string, LocalQueue>();

  constructor(clock: Clock, wake: Wake, sender: AcquireSender, telemetry: Telemetry) {
    this.#telemetry = telemetry;
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
      line = new LocalQueue(key, this.#clock, (due) => this.#poll(due));
      this.#queues.set(key, line);
    }
    if (line.add(acquisition)) this.#wake.enter();
    // the wake channel opened while its request was under way
    if (acquisition.channel !== this.#wake.channel) this.#sender.ask(acquisition);
    line.plan(next, this.#sender.period([acquisition]));
  }

  #poll(line: LocalQueue): void {
    const now = this.#clock.now();
    const { longWait, claimWindow } = this.#telemetry.settings;
    let size = 0;
    let oldest: Acquisition | undefined;
    for (const acquisition of line.acquisitions()) {
      if (acquisition.asleep) continue;
      if (acquisition.request.candidate !== true) oldest ??= acquisition;
      const waited = Math.max(now - acquisition.arrived, acquisition.queue?.waited(now) ?? 0);
      const isDeaf = size === 0 && this.#wake.channel === '' && waited >= claimWindow;
      if (isDeaf) this.#telemetry.warn('polls', line.key, this.#wake.failure);
      if (oldest === acquisition && waited >= longWait)
        this.#telemetry.warn('waits', acquisition.taker, waited);
      size += Math.max(1, acquisition.queue?.size ?? 0);
    }
    this.#telemetry.warn('queue', line.key, size);
    void this.#sender.poll(line);
  }

  /** Polls for a key now, if it pauses. */
  wakeUp(key: string): void {
    this.#queues.get(key)?.wakeUp();
  }

  leave(acquisition: Acquisition): void {
    const line = this.#queues.get(acquisition.request.key);
    if (line === undefined || !line.remove(acquisition)) return;
    if (line.size === 0) this.#queues.delete(line.key);
    this.#wake.leave();
  }
}
