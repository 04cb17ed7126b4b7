/**
 * The wake channel: the channel on which this process receives pushes.
 *
 *     closed --the first waiter, warmUp--> opening --confirmed--> up <--> down
 *        ^------------------- no waiter for `linger` and no warmUp ------/
 *
 * While the channel is not up, requests name no channel and their grants are found by polling, so a
 * broken subscription starves no waiter. Each time it comes up, every waiter repeats its request,
 * because pushes may have been lost.
 */
import type { Clock, Timer } from '../clock.js';
import type { Push } from '../engine/commands.js';
import { growing } from '../retry.js';
import type { Store, WakeChannel } from './port.js';

/** The pauses between attempts to open the channel, in ms. */
const DELAY = growing(100, 5000);
/** Ms between two looks whether the last request that names the channel has ended. */
const NAMED_MS = 50;

export interface WakeEvents {
  push(push: Push): void;
  /** Pushes arrive from now on. Earlier ones may have been lost. */
  up(): void;
}

export class Wake {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #name: () => string;
  readonly #linger: number;
  readonly #events: WakeEvents[];
  #channel: WakeChannel | undefined;
  #up = false;
  #opening: Promise<void> | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #failure: unknown;
  #kept = false;
  #waiters = 0;
  #naming = 0;
  #closed = false;

  constructor(
    store: Store,
    clock: Clock,
    options: { name: () => string; linger: number; events: WakeEvents },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#name = options.name;
    this.#linger = options.linger;
    this.#events = [options.events];
  }

  /** The channel that requests name, or `''` while the channel is not up. */
  get channel(): string {
    return this.#up && this.#channel !== undefined ? this.#channel.name : '';
  }

  /** Adds a receiver of all events. */
  also(events: WakeEvents): void {
    this.#events.push(events);
  }

  /** Counts the pending requests that name the channel: 1 when one starts, -1 when it ends. */
  named(more: 1 | -1): void {
    this.#naming += more;
  }

  /** Counts one more waiter. */
  enter(): void {
    this.#waiters += 1;
    if (this.#channel !== undefined || this.#opening !== undefined) return;
    // after a failure the next attempt already has a timer
    if (this.#failures === 0) this.#open();
  }

  /** Counts one waiter fewer. */
  leave(): void {
    this.#waiters -= 1;
    if (this.#waiters > 0 || this.#closed) return;
    this.#failures = 0;
    this.#closeLater();
  }

  /**
   * Opens the channel and keeps it open until `close`. Resolves when the first attempt has
   * succeeded or failed; further attempts follow a failure.
   */
  async warmUp(): Promise<void> {
    if (!this.#kept) this.enter();
    this.#kept = true;
    await this.#opening;
  }

  /** The error of the last attempt to open the channel. */
  get failure(): unknown {
    return this.#failure;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#opening;
    await this.#shut();
  }

  #open(): void {
    this.#timer?.cancel();
    this.#opening = this.#store
      .listen(this.#name(), {
        push: (push) => {
          for (const events of this.#events) events.push(push);
        },
        up: () => this.#set(true),
        down: () => this.#set(false),
      })
      .then(
        (channel) => {
          this.#channel = channel;
          this.#failures = 0;
          this.#failure = undefined;
          if (this.#closed) return this.#shut();
          this.#set(true);
          // all waiters may have ended in the meantime
          if (this.#waiters === 0) this.#closeLater();
          return undefined;
        },
        (error: unknown) => {
          this.#failure = error;
          this.#retryLater();
        },
      )
      .finally(() => {
        this.#opening = undefined;
      });
  }

  #retryLater(): void {
    if (this.#closed || this.#waiters === 0) return;
    this.#failures += 1;
    this.#timer = this.#clock.after(DELAY(this.#failures), () => this.#open(), true);
  }

  #set(up: boolean): void {
    this.#up = up;
    if (!up || this.#channel === undefined || this.#closed) return;
    for (const events of this.#events) events.up();
  }

  #closeLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(this.#linger, () => this.#lingered(), true);
  }

  /**
   * Keeps the channel open for requests that name it: without a subscriber, their waiters would
   * count as dead.
   */
  #lingered(): void {
    if (this.#naming === 0) void this.#shut();
    else this.#timer = this.#clock.after(NAMED_MS, () => this.#lingered(), true);
  }

  async #shut(): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined || (this.#waiters > 0 && !this.#closed)) return;
    this.#channel = undefined;
    this.#up = false;
    await channel.close();
  }
}
