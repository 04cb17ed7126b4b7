/**
 * The wake channel, on which this process receives pushes.
 *
 *     closed --the first waiter, warmUp--> opening --confirmed--> up <--> down
 *        |                                    ^                   |        |
 *        |                                    \--- replaced -------+--------/
 *        ^--------------- no waiter for `linger` and no warmUp ---/
 *
 * A connection may die silently, or have an old password. So the channel is replaced when a message
 * to itself does not arrive, and when it was down for some time.
 *
 * While the channel is not up, requests name none and their grants are found by polling (I5). Each
 * time it comes up, every waiter repeats its request, because pushes may be lost.
 */
import { afterIo, type Clock, outside, type Timer } from '../base/clock.js';
import type { Push } from '../engine/commands.js';
import { growing } from '../base/retry.js';
import type { EchoAnswer, Store, WakeChannel, WakeListener } from './port.js';

const DELAY = growing(100, 5000);
/** How often to look whether the last request that names the channel has ended. */
const NAMED_MS = 50;
const DOWN_MS = 2000;
const LATER_MS = 100;
/** Polls come so many times as often without pushes. */
const UNHEARD = 4;
/** Without messages: the first period in ms, and later ones as a part of the wait. */
const SOON_MS = 5;
const PART = 32;
/** The pauses between messages to itself that do not arrive. */
const ECHO = growing(1000, 60_000);

export interface WakeEvents {
  push(push: Push): void;
  up(): void;
}

export class Wake {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #name: () => string;
  readonly #linger: number;
  readonly #events: WakeEvents[];
  /** In ms. */
  readonly #limit: number;
  readonly #silent: () => void;
  /** The channel that requests name; `''` while it is not up. Only this class writes it. */
  channel = '';
  #channel: WakeChannel | undefined;
  #up = false;
  #opening: Promise<void> | undefined;
  #end = new AbortController();
  #timer: Timer | undefined;
  #failures = 0;
  #failure: unknown;
  #kept = false;
  #waiters = 0;
  #naming = 0;
  #closed = false;
  #echo: Promise<boolean | undefined> | undefined;
  /** Messages to itself in a row that did not arrive, and the last one's time. */
  #losses = 0;
  #echoedAt = Number.NEGATIVE_INFINITY;
  /** Runs from a missed push until the next message to itself. */
  #missedTimer: Timer | undefined;
  #missed = '';
  #downTimer: Timer | undefined;
  /** Counts the channels: a former one's events do not count. */
  #era = 0;

  /** @param options `silent` is called when a channel is replaced because nothing arrives */
  constructor(
    store: Store,
    clock: Clock,
    options: {
      name: () => string;
      linger: number;
      requestTimeout: number;
      events: WakeEvents;
      silent?: () => void;
    },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#name = options.name;
    this.#linger = options.linger;
    this.#events = [options.events];
    this.#limit = options.requestTimeout;
    this.#silent = options.silent ?? (() => undefined);
  }

  also(events: WakeEvents): void {
    this.#events.push(events);
  }

  /** Counts the pending requests that name the channel. */
  named(more: 1 | -1): void {
    this.#naming += more;
  }

  enter(): void {
    this.#waiters += 1;
    if (this.#channel !== undefined || this.#opening !== undefined) return;
    // a failure has a timer for the next attempt
    if (this.#failures === 0) this.#open();
  }

  leave(): void {
    this.#waiters -= 1;
    if (this.#waiters > 0 || this.#closed) return;
    this.#failures = 0;
    this.#closeLater();
  }

  /**
   * Opens the channel, keeps it open until `close`, and sends a message to itself. Resolves after
   * the first attempt; others follow a failure. A channel on which the message does not arrive is
   * replaced once. False if messages do not arrive, or cannot be published.
   */
  async warmUp(): Promise<boolean> {
    if (!this.#kept) this.enter();
    this.#kept = true;
    await this.#opening;
    if (await this.#works()) return this.#up;
    await this.#opening;
    return (await this.#works()) === true && this.#up;
  }

  /** A poll found a grant: the connection may be dead, unless the push of `id` comes soon. */
  missed(key: string, id = ''): void {
    if (this.#missedTimer !== undefined) return;
    this.#missed = id;
    const wait = this.#echoedAt + ECHO(this.#losses + 1) - this.#clock.now();
    const look = (): void => {
      this.#missedTimer = undefined;
      void this.#works(key);
    };
    this.#missedTimer = this.#clock.after(Math.max(LATER_MS, wait), look, true);
  }

  #came(push: Push): void {
    if (push.kind !== 'grant' || push.id !== this.#missed) return;
    this.#missedTimer?.cancel();
    this.#missedTimer = undefined;
  }

  /**
   * Sends a message to itself, and replaces the channel if it does not arrive: then false;
   * `undefined` if it could not be published. Concurrent calls share a message.
   */
  async #works(key?: string): Promise<boolean | undefined> {
    const channel = this.#channel;
    if (!this.#up || channel?.echo === undefined) return this.#up;
    this.#echo ??= this.#arrives(channel.echo(key)).finally(() => {
      this.#echo = undefined;
      this.#echoedAt = this.#clock.now();
    });
    const came = await this.#echo;
    if (came === false && channel === this.#channel && !this.#closed) {
      this.#losses += 1;
      this.#failure = new Error('messages did not arrive, although the connection was open');
      this.#silent();
      this.#replace();
    } else if (came === true) {
      this.#losses = 0;
    }
    return came;
  }

  /** As `warmUp`, for an open channel; `undefined` if it is not open, or unknown. */
  async examine(): Promise<boolean | undefined> {
    return this.channel === '' ? undefined : this.#works();
  }

  async #arrives({ published, arrived }: EchoAnswer): Promise<boolean | undefined> {
    const reached = await this.#within(published);
    return reached === true ? ((await this.#within(arrived)) ?? false) : reached;
  }

  #within(answer: Promise<boolean>): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      const late = (): void => afterIo(this.#clock, () => resolve(undefined));
      const timer = this.#clock.after(this.#limit, late, true);
      answer.finally(() => timer.cancel()).then(resolve, () => resolve(undefined));
    });
  }

  #replace(): void {
    const before = this.#channel;
    this.#forget();
    // a dead connection may take long to close
    void before?.close();
    if (this.#waiters > 0) this.#open();
  }

  /** The store has no messages. */
  get mute(): boolean {
    return this.#channel?.name === '';
  }

  /**
   * One claim window until the next poll; less without pushes, when only polls find a grant. A
   * store without messages is asked soon, and ever less often.
   */
  period(claim: number, waited: number): number {
    if (this.channel !== '') return claim;
    const period = claim / UNHEARD;
    return this.mute ? Math.min(period, Math.max(SOON_MS, waited / PART)) : period;
  }

  get failure(): unknown {
    return this.#failure;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#downTimer?.cancel();
    this.#missedTimer?.cancel();
    this.#end.abort();
    await this.#opening;
    await this.#shut();
  }

  #open(): void {
    this.#timer?.cancel();
    const era = (this.#era += 1);
    this.#end = new AbortController();
    const listener: WakeListener = {
      push: (push) => {
        this.#came(push);
        for (const events of this.#events) events.push(push);
      },
      up: () => era === this.#era && this.#set(true),
      down: () => era === this.#era && this.#set(false),
      ended: this.#end.signal,
    };
    this.#opening = outside(() => this.#store.listen(this.#name(), listener))
      .then(
        (channel) => {
          this.#channel = channel;
          this.#failures = 0;
          this.#failure = undefined;
          if (this.#closed) return this.#shut();
          this.#set(true);
          // all waiters may have ended meanwhile
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
    this.#timer?.cancel();
    this.#timer = this.#clock.after(DELAY(this.#failures), () => this.#open(), true);
  }

  #set(up: boolean): void {
    this.#up = up;
    this.channel = up && this.#channel !== undefined ? this.#channel.name : '';
    this.#downTimer?.cancel();
    if (!up) this.#downTimer = this.#clock.after(DOWN_MS, () => this.#wentDown(), true);
    if (!up || this.#channel === undefined || this.#closed) return;
    for (const events of this.#events) events.up();
  }

  #wentDown(): void {
    if (!this.#up && this.#channel !== undefined && !this.#closed) this.#replace();
  }

  #closeLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(this.#linger, () => this.#lingered(), true);
  }

  /**
   * Keeps the channel for requests that name it: without a subscriber, their waiters would count as
   * dead.
   */
  #lingered(): void {
    if (this.#naming === 0) void this.#shut();
    else this.#timer = this.#clock.after(NAMED_MS, () => this.#lingered(), true);
  }

  #forget(): void {
    this.#end.abort();
    this.#era += 1;
    this.#channel = undefined;
    this.channel = '';
    this.#up = false;
    this.#downTimer?.cancel();
  }

  async #shut(): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined || (this.#waiters > 0 && !this.#closed)) return;
    this.#forget();
    await channel.close();
  }
}
