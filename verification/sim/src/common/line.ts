/**
 * The way from one process to one server. Requests arrive in order, late, or never; the same holds
 * for their answers. A copy of a request may arrive up to some seconds later, after newer requests.
 */
import { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Process } from '../world/process.js';

/** How badly the network of a simulation behaves. */
export interface Network {
  /** The usual longest latency in one direction, in ms. */
  readonly latency: number;
  /** The probability that a message is slow, and its longest latency in ms. */
  readonly slow: number;
  readonly slowest: number;
  /** The probability that a message is lost. */
  readonly lost: number;
  /** The probability that a copy of a request arrives later, and the longest delay in ms. */
  readonly copied: number;
  readonly copies: number;
  /**
   * True: requests overtake each other, as on several connections. False: they arrive in order.
   * Without it, each one also takes its latency after the arrival of the one before.
   */
  readonly loose?: boolean;
}

/** One in five plans. The known seeds of mutants end with other digits. */
export function isOrderly(seed: number): boolean {
  return seed % 10 === 2 || seed % 10 === 6;
}

/** A network that loses nothing. */
export function calm(seed: number): Network {
  const random = new Random(`calm ${seed}`);
  return {
    latency: random.pick([0.5, 2, 10, 20]),
    slow: random.pick([0, 0.05]),
    slowest: random.pick([40, 80]),
    lost: 0,
    copied: 0,
    copies: 0,
    loose: random.chance(0.3),
  };
}

/** Messages, one after another, and slow ones among them, until a lease is certainly claimed. */
const MESSAGES = 30;
const SLOW = 4;
/** As many times as long if a waiter finds its lease with a poll, which others overtake. */
const POLLED = 3;

/** How messages travel, and how a store tells waiters of their leases. */
export interface Ways {
  readonly network: Network;
  /** The error up to which the store knows its clock, in ms. */
  readonly bounds?: number;
  /** It sends messages. */
  readonly messages?: boolean;
}

/**
 * The claim window, in ms, in which a waiter claims a lease from the queue in a calm network.
 *
 * The lease counts from the waiter's last request before the grant, and ends if no renewal is made:
 * each of the two reads and swaps a state, and others are first up to twice, so both take 24
 * messages. The push, and timers, take the rest. A clock that is known up to an error costs that
 * error twice.
 */
export function claimTime({ network, bounds = 0, messages = true }: Ways): number {
  const { latency, slow, slowest } = network;
  const calls = MESSAGES * latency + (slow > 0 ? SLOW * slowest : 0);
  return calls * (messages ? 1 : POLLED) + 2 * bounds;
}

/** A claim window of at least 300 ms in which leases are claimed, and a ttl to it. */
export function roomy(ways: Ways): { readonly claimWindow: number; readonly ttl: number } {
  const claimWindow = Math.max(300, Math.ceil(1.1 * claimTime(ways)));
  return { claimWindow, ttl: 5 * claimWindow };
}

/** Four in ten orderly plans. The known seeds of mutants end with other digits. */
export function isRoomy(seed: number): boolean {
  return seed % 100 >= 60;
}

/** Times until which a server does not answer. */
export interface Silence {
  /** Until this time it answers nothing; requests wait. */
  readonly frozenUntil: number;
  /** Until this time messages from and to it are lost. */
  readonly cutUntil: number;
}

export class Line {
  readonly #server: Silence;
  readonly #process: Process;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #network: Network;
  /** The time at which the last request arrives. */
  #last = 0;
  #copies = 0;

  constructor(
    server: Silence,
    process: Process,
    scheduler: Scheduler,
    random: Random,
    network: Network,
  ) {
    this.#server = server;
    this.#process = process;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#network = network;
  }

  /** While it is the same, each request arrives at most once, and in order. */
  get connection(): unknown {
    return this.#network.loose === true ? undefined : this.#copies;
  }

  /** Runs a request at the server. Settles with its answer, unless one of both is lost. */
  send<T>(request: () => Promise<T>): Promise<T> {
    const { copied, copies } = this.#network;
    return new Promise((resolve, reject) => {
      const answer = (value: T): void => this.deliver(() => resolve(value));
      const refusal = (error: Error): void => this.deliver(() => reject(error));
      this.#last = this.#arrival(this.#process.time, this.#latency());
      this.#serve(this.#last, () => void request().then(answer, refusal));
      if (this.#random.chance(copied)) {
        this.#copies += 1;
        const later = this.#last + this.#random.spread(1, copies);
        this.#serve(later, () => void request().catch(() => undefined));
      }
    });
  }

  /** A message of the server to the process. */
  deliver(run: () => void): void {
    if (this.#server.cutUntil > this.#scheduler.now) return;
    if (this.#random.chance(this.#network.lost)) return;
    this.#scheduler.after(this.#latency(), () => this.#process.deliver('message', run));
  }

  /** Runs a request at a server, when it arrives there and the server is not frozen. */
  #serve(at: number, request: () => void): void {
    if (this.#random.chance(this.#network.lost)) return;
    this.#scheduler.at(at, () => {
      const { cutUntil, frozenUntil } = this.#server;
      if (cutUntil > this.#scheduler.now) return;
      if (frozenUntil > this.#scheduler.now) this.#scheduler.at(frozenUntil, request);
      else request();
    });
  }

  #arrival(now: number, latency: number): number {
    const { loose } = this.#network;
    if (loose === true) return now + latency;
    return loose === false
      ? Math.max(this.#last, now + latency)
      : Math.max(this.#last, now) + latency;
  }

  #latency(): number {
    const { latency, slow, slowest } = this.#network;
    const most = this.#random.chance(slow) ? slowest : latency;
    return this.#random.between(0.05, most);
  }
}
