/**
 * A channel on all servers of a quorum. A message counts when a majority has published it under the
 * same ballot. The channel is up while a majority is subscribed.
 */
import type { Clock } from '../../base/clock.js';
import { StoreFailure } from '../port.js';
import { growing } from '../../base/retry.js';
import type { Acceptor } from './acceptor.js';

/** How messages begin, see `quorum-peers.ts`. */
export const TOLD = '>';
export const ANSWERED = '<';
export const HANDED = '=';
const HEARD_MAX = 2000;
/** Of all kept texts, in characters: a user who may only publish may send long ones. */
const LENGTH_MAX = 2 ** 23;
const DELAY = growing(100, 5000);

/** It may throw for a message that it cannot read. */
export interface QuorumListener {
  /** A message of a change that is made. */
  message(text: string, ballot: string): void;
  /** A message of one server, outside of a change. */
  told(text: string, server: number): void;
  up(): void;
  down(): void;
  dropped(): void;
}

interface Closable {
  close(): Promise<void>;
}

export class QuorumChannel {
  readonly #acceptors: readonly Acceptor[];
  readonly #majority: number;
  readonly #clock: Clock;
  readonly #listener: QuorumListener;
  readonly #up = new Set<number>();
  readonly #open = new Map<number, Closable>();
  /** The servers that published a message, by text and ballot. */
  readonly #heard = new Map<string, Set<number>>();
  /** Answers that a minority has published here. */
  readonly #minor = new Set<string>();
  #length = 0;
  #closed = false;
  #opening = true;

  constructor(
    acceptors: readonly Acceptor[],
    majority: number,
    clock: Clock,
    listener: QuorumListener,
  ) {
    this.#acceptors = acceptors;
    this.#majority = majority;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Resolves when a majority is subscribed; rejects if none can be. */
  async open(channel: string): Promise<Closable> {
    await new Promise<void>((resolve, reject) => {
      let failures = 0;
      for (const [server, acceptor] of this.#acceptors.entries()) {
        const opened = (failure?: unknown): void => {
          if (failure !== undefined) failures += 1;
          if (this.#up.size >= this.#majority) resolve();
          else if (failures > this.#acceptors.length - this.#majority) reject(failureOf(failure));
        };
        void this.#subscribe(server, acceptor, channel, 1, opened);
      }
    }).catch(async (error: unknown) => {
      await this.#close();
      throw error;
    });
    this.#opening = false;
    return { close: () => this.#close() };
  }

  /** Subscribes on one server, again after a failure, until the channel is closed. */
  async #subscribe(
    server: number,
    acceptor: Acceptor,
    channel: string,
    attempt: number,
    opened: (failure?: unknown) => void,
  ): Promise<void> {
    try {
      const subscription = await acceptor.subscribe(channel, {
        message: (text) => this.#read(server, text),
        up: () => this.#set(server, true),
        down: () => this.#set(server, false),
      });
      if (this.#closed) return await subscription.close();
      this.#open.set(server, subscription);
      this.#set(server, true);
      opened();
    } catch (error) {
      if (attempt === 1) opened(error ?? new Error('no reason'));
      if (this.#closed) return;
      const again = (): void => {
        if (!this.#closed) void this.#subscribe(server, acceptor, channel, attempt + 1, opened);
      };
      this.#clock.after(DELAY(attempt), again, true);
    }
  }

  #set(server: number, up: boolean): void {
    const before = this.#up.size >= this.#majority;
    if (up) this.#up.add(server);
    else this.#up.delete(server);
    const after = this.#up.size >= this.#majority;
    if (this.#opening || this.#closed || before === after) return;
    if (after) this.#listener.up();
    else this.#listener.down();
  }

  /** Any client that may publish can send anything: no message may end the process. */
  #read(server: number, message: string): void {
    try {
      this.#hear(server, message);
    } catch {
      this.#listener.dropped();
    }
  }

  #hear(server: number, message: string): void {
    if (this.#closed) return;
    if (message.startsWith(TOLD)) return this.#listener.told(message, server);
    const space = message.indexOf(' ');
    // the first line has a proof of the rest, so the long text is not compared
    const name = message[space + 1] === HANDED ? message.split('\n', 1).join() : message;
    let servers = this.#heard.get(name);
    if (servers?.has(server)) return;
    if (servers === undefined) {
      servers = new Set();
      this.#heard.set(name, servers);
      this.#length += name.length;
    }
    servers.add(server);
    if (message[space + 1] === ANSWERED) this.#minor.add(name);
    for (const oldest of this.#heard.keys()) {
      if (this.#heard.size <= HEARD_MAX && this.#length <= LENGTH_MAX) break;
      this.#heard.delete(oldest);
      this.#minor.delete(oldest);
      this.#length -= oldest.length;
    }
    if (servers.size !== this.#majority) return;
    this.#minor.delete(name);
    this.#listener.message(message.slice(space + 1), message.slice(0, space));
  }

  /**
   * Tells answers of changes that are made, whichever servers have published them here: while the
   * channel opens, that may be fewer than a majority.
   */
  made(ballots: readonly string[]): void {
    for (const name of this.#minor) {
      const space = name.indexOf(' ');
      const ballot = name.slice(0, space);
      if (!ballots.includes(ballot)) continue;
      this.#minor.delete(name);
      // it is not told again
      this.#heard.set(name, new Set(this.#acceptors.keys()));
      try {
        this.#listener.message(name.slice(space + 1), ballot);
      } catch {
        this.#listener.dropped();
      }
    }
  }

  async #close(): Promise<void> {
    this.#closed = true;
    this.#heard.clear();
    this.#length = 0;
    this.#minor.clear();
    await Promise.all([...this.#open.values()].map((one) => one.close()));
  }
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreFailure(`too few servers accept subscriptions: ${message}`, 'unanswered', error);
}
