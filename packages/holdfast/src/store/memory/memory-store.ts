/**
 * The embedded store: the engine itself, in this process. No server, no network.
 *
 * Several `Holdfast` instances that are given the same store share its locks; nothing outside the
 * process does. Answers and pushes come in a later turn of the microtask queue, never inside the
 * call that caused them.
 */
import { type Clock, systemClock } from '../../clock.js';
import { Engine } from '../../engine/engine.js';
import type { Command, Reply } from '../../engine/commands.js';
import { Glob } from '../glob.js';
import type { Store, WakeChannel, WakeListener } from '../port.js';

/** How many commands pass between two looks for what can be forgotten. */
const SWEEP_EVERY = 1024;

export class MemoryStore implements Store {
  readonly label = 'memory';
  readonly #clock: Clock;
  readonly #listeners = new Map<string, WakeListener>();
  readonly #engine = new Engine((channel) => (this.#listeners.has(channel) ? 1 : 0));
  /** Makes it the time of day, once: the fences of a program that starts again go on growing. */
  readonly #epoch: number;
  /** Stores of their own, by prefix. */
  readonly #spaces = new Map<string, MemoryStore>();
  #commands = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#epoch = Math.floor((clock.wall() - clock.now()) * 1000);
  }

  /** A store of its own for a prefix: nothing in it is seen from another. */
  space(prefix: string): MemoryStore {
    const space = this.#spaces.get(prefix) ?? new MemoryStore(this.#clock);
    this.#spaces.set(prefix, space);
    return space;
  }

  /** Keys that are remembered. */
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

  async *keys(pattern: string): AsyncIterable<string> {
    this.#engine.sweep(this.#now());
    const glob = new Glob(pattern);
    for (const key of this.#engine.keys()) if (glob.matches(key)) yield key;
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
