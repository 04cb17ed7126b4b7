/**
 * One direction of the path between a machine and the server: the latency of a message, and
 * whether messages pass.
 *
 * While the path is cut, messages wait, as retransmitted TCP segments do. They arrive in order
 * when the path is open again, unless their connection was reset in between.
 */
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';

/** Properties of a network. */
export interface Network {
  /** Usual time of a message one way, in ms, and by how much it varies. */
  readonly latency: number;
  readonly jitter: number;
  /** Part of the messages that take up to `spike` ms. */
  readonly spikes: number;
  readonly spike: number;
  /** True: messages of one connection may overtake each other, unlike in a TCP stream. */
  readonly loose: boolean;
  /** Part of the messages that arrive twice; the second one up to `echo` ms later. */
  readonly doubled: number;
  readonly echo: number;
  /** Part of the messages that never arrive. */
  readonly lost: number;
}

export class Path {
  readonly scheduler: Scheduler;
  readonly random: Random;
  network: Network;
  /** The factor of the latency. */
  slowness = 1;
  #cutUntil = 0;

  constructor(scheduler: Scheduler, random: Random, network: Network) {
    this.scheduler = scheduler;
    this.random = random;
    this.network = network;
  }

  /** The earliest and the drawn arrival time of a message that is sent at a given time. */
  arrival(time: number): number {
    const { latency, jitter, spikes, spike } = this.network;
    let takes = latency + this.random.next() * jitter;
    takes *= this.slowness;
    if (spikes > 0 && this.random.chance(spikes)) takes += this.random.next() * spike;
    return Math.max(time, this.#cutUntil) + takes;
  }

  get cutUntil(): number {
    return this.#cutUntil;
  }

  cut(until: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, until);
  }

  heal(): void {
    this.#cutUntil = 0;
  }
}
