/** Answers and messages come in a later microtask, never inside the call that caused them. */
import { type Clock, systemClock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type {
  Change,
  MessageListener,
  Register,
  Scanned,
  Swap,
  Swapped,
  Versioned,
} from './register.js';

/** Swaps between two removals of forgotten states. */
const SWEEP_EVERY = 1024;

interface Entry {
  readonly state: string;
  readonly version: number;
  readonly forgetAt: Micros;
  /** The version is that of an `overtake`. */
  readonly isOvertaken?: boolean;
}

/** A register in the memory of this process. Instances that share the object share its locks. */
export class MemoryRegister implements Register {
  readonly label: string = 'register in memory';
  readonly #clock: Clock;
  /** Adds wall-clock time, so fences keep growing after a restart. */
  readonly #epoch: Micros;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Map<string, MessageListener>();
  #swaps = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#epoch = Math.floor((clock.wall() - clock.now()) * 1000);
  }

  /** The states that are not forgotten. */
  get size(): number {
    this.#sweep(this.#now());
    return this.#entries.size;
  }

  async read(key: string): Promise<Versioned> {
    const time = this.#now();
    const { state, version } = this.#entry(key, time);
    return { state, version: `${version}`, time };
  }

  async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const time = this.#now();
    if (`${this.#entry(key, time).version}` !== version) return false;
    this.#swaps += 1;
    if (this.#swaps % SWEEP_EVERY === 0) this.#sweep(time);
    const { state, forgetAt, messages } = change;
    // one counter for all keys: a forgotten key never gets an old version again
    this.#entries.set(key, { state, forgetAt, version: this.#swaps });
    for (const { channel, text } of messages) {
      queueMicrotask(() => this.#listeners.get(channel)?.message(text));
    }
    return { version: `${this.#swaps}`, time };
  }

  async overtake(key: string): Promise<Versioned> {
    const entry = this.#entry(key, this.#now());
    if (entry.version !== 0 && entry.isOvertaken !== true) {
      this.#swaps += 1;
      this.#entries.set(key, { ...entry, version: this.#swaps, isOvertaken: true });
    }
    return this.read(key);
  }

  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    this.#listeners.set(channel, listener);
    listener.up();
    return {
      close: async () => {
        if (this.#listeners.get(channel) === listener) this.#listeners.delete(channel);
      },
    };
  }

  async *scan(prefix: string): AsyncIterable<Scanned> {
    const time = this.#now();
    this.#sweep(time);
    for (const [key, { state, version }] of this.#entries) {
      if (key.startsWith(prefix)) yield { key, found: { state, version: `${version}`, time } };
    }
  }

  readMany(keys: readonly string[]): Promise<readonly Versioned[]> {
    return Promise.all(keys.map((key) => this.read(key)));
  }

  swapMany(swaps: readonly Swap[]): Promise<readonly Swapped[]> {
    return Promise.all(swaps.map(({ key, version, change }) => this.swap(key, version, change)));
  }

  async alive(channels: readonly string[]): Promise<readonly boolean[]> {
    return channels.map((channel) => this.#listeners.has(channel));
  }

  #now(): Micros {
    return Math.floor(this.#clock.now() * 1000) + this.#epoch;
  }

  #entry(key: string, now: Micros): Entry {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.forgetAt <= now
      ? { state: '', version: 0, forgetAt: 0 }
      : entry;
  }

  #sweep(now: Micros): void {
    for (const [key, { forgetAt }] of this.#entries) {
      if (forgetAt <= now) this.#entries.delete(key);
    }
  }
}
