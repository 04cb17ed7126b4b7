/**
 * The embedded store: the engine in this process, without a server or a network.
 *
 * `Holdfast` instances with the same memory store share its locks; other processes do not. Replies
 * and pushes come in a later microtask, never inside the call that caused them.
 */
import { type Clock, systemClock } from '../../clock.js';
import { Engine } from '../../engine/engine.js';
import type { Command, Reply } from '../../engine/commands.js';
import type { Store, WakeChannel, WakeListener } from '../port.js';

/** The number of commands between two sweeps. */
const SWEEP_EVERY = 1024;

export class MemoryStore implements Store {
  readonly label = 'memory';
  readonly #clock: Clock;
  readonly #listeners = new Map<string, WakeListener>();
  readonly #engine = new Engine((channel) => (this.#listeners.has(channel) ? 1 : 0));
  /** Turns the monotonic clock into wall-clock time, so fences keep growing after a restart. */
  readonly #epoch: number;
  /** Separate stores by prefix. */
  readonly #spaces = new Map<string, MemoryStore>();
  #commands = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#epoch = Math.floor((clock.wall() - clock.now()) * 1000);
  }

  /** A separate store for a prefix. Stores of different prefixes share nothing. */
  space(prefix: string): MemoryStore {
    const space = this.#spaces.get(prefix) ?? new MemoryStore(this.#clock);
    this.#spaces.set(prefix, space);
    return space;
  }

  /** The number of stored keys. */
  get size(): number {
    this.#engine.sweep(this.#now());
    return this.#engine.size;
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => Promise.resolve(this.#apply(command)));
  }

  listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    this.#listeners.set(name, listener);
    const close = (): Promise<void> => {
      if (this.#listeners.get(name) === listener) this.#listeners.delete(name);
      return Promise.resolve();
    };
    return Promise.resolve({ name, close });
  }

  async *keys(): AsyncIterable<string> {
    this.#engine.sweep(this.#now());
    yield* this.#engine.keys();
  }

  #now(): number {
    return Math.floor(this.#clock.now() * 1000) + this.#epoch;
  }

  #apply(command: Command): Reply {
    const now = this.#now();
    this.#commands += 1;
    if (this.#commands % SWEEP_EVERY === 0) this.#engine.sweep(now);
    const { reply, pushes } = this.#engine.apply(command, now);
    for (const { channel, push } of pushes) {
      queueMicrotask(() => this.#listeners.get(channel)?.push(push));
    }
    return reply;
  }
}
