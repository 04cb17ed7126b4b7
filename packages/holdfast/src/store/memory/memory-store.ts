/**
 * The embedded store: the engine in this process, without a server or a network.
 *
 * `Holdfast` instances with the same memory store share its locks; other processes do not. Replies
 * and pushes come in a later microtask, never inside their call. A loop of calls would never end
 * its step, so one reply in a while comes in a later turn: timers and sockets go on.
 */
import { afterTurn, type Clock, systemClock } from '../../base/clock.js';
import { Engine } from '../../engine/engine.js';
import type { Command, Reply } from '../../engine/commands.js';
import type { Store, WakeChannel, WakeListener } from '../port.js';

/** After so many commands one turn of the event loop must pass. */
const TURN_MAX = 256;

const SWEEP_EVERY = 1024;

export class MemoryStore implements Store {
  readonly label = 'memory';
  readonly #clock: Clock;
  readonly #listeners = new Map<string, WakeListener>();
  readonly #engine = new Engine((channel) => (this.#listeners.has(channel) ? 1 : 0));
  /** Added to the monotonic clock, so fences keep growing after a restart. */
  readonly #epoch: number;
  readonly #spaces = new Map<string, MemoryStore>();
  #commands = 0;
  #sinceTurn = 0;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#epoch = Math.floor((clock.wall() - clock.now()) * 1000);
  }

  space(prefix: string): MemoryStore {
    const space = this.#spaces.get(prefix) ?? new MemoryStore(this.#clock);
    this.#spaces.set(prefix, space);
    return space;
  }

  get size(): number {
    this.#engine.sweep(this.#now());
    return this.#engine.size;
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    const replies = batch.map((command) => this.#apply(command));
    this.#sinceTurn += batch.length;
    // a clock of a test has no event loop
    if (this.#sinceTurn < TURN_MAX || this.#clock !== systemClock) {
      return replies.map((reply) => Promise.resolve(reply));
    }
    this.#turn ??= new Promise((resolve) => {
      afterTurn(() => {
        this.#sinceTurn = 0;
        this.#turn = undefined;
        resolve();
      });
    });
    const turn = this.#turn;
    return replies.map((reply) => turn.then(() => reply));
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
