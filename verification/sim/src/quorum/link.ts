/**
 * The way from one process to one server. Requests arrive in order, late, or never; the same holds
 * for their answers. A copy of a request may arrive up to some seconds later, after newer requests.
 */
import type { Acceptor } from '../../../../packages/holdfast/dist/store/quorum/acceptor.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Process } from '../world/process.js';
import type { MarkerName, Node } from './node.js';

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
}

export class Link implements Acceptor {
  readonly label = 'simulated';
  readonly #node: Node;
  readonly #server: Acceptor;
  readonly #process: Process;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #network: Network;
  /** The time at which the last request arrives. */
  #last = 0;

  constructor(
    [node, marker]: readonly [Node, MarkerName],
    process: Process,
    scheduler: Scheduler,
    random: Random,
    network: Network,
  ) {
    this.#node = node;
    this.#server = node.acceptor(marker);
    this.#process = process;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#network = network;
  }

  prepare: Acceptor['prepare'] = (key, ballot, now, asker) => {
    return this.#send(() => this.#server.prepare(key, ballot, now, asker));
  };

  accept: Acceptor['accept'] = (key, proposal) => {
    return this.#send(() => this.#server.accept(key, proposal));
  };

  look: Acceptor['look'] = (key, now) => this.#send(() => this.#server.look(key, now));
  check: Acceptor['check'] = (terms) => this.#send(() => this.#server.check(terms));
  collect: Acceptor['collect'] = (key, channel) => {
    return this.#send(() => this.#server.collect(key, channel));
  };

  keys: Acceptor['keys'] = (prefix, within) => this.#server.keys(prefix, within);

  subscribe: Acceptor['subscribe'] = (channel, listener) => {
    const message = (text: string): void => {
      this.#arrive(() => this.#process.deliver('message', () => listener.message(text)));
    };
    const up = (): void => listener.up();
    const down = (): void => listener.down();
    return this.#server.subscribe(channel, { message, up, down });
  };

  #send<T>(request: () => Promise<T>): Promise<T> {
    const { copied, copies } = this.#network;
    return new Promise((resolve) => {
      const answer = (value: T): void => {
        this.#arrive(() => this.#process.deliver('message', () => resolve(value)));
      };
      const now = Math.max(this.#process.time, this.#last);
      this.#last = now + this.#latency();
      this.#serve(this.#last, () => void request().then(answer));
      if (this.#random.chance(copied)) {
        const later = this.#last + this.#random.spread(1, copies);
        this.#serve(later, () => void request());
      }
    });
  }

  /** Runs a request at a server, when it arrives there and the server is not frozen. */
  #serve(at: number, request: () => void): void {
    if (this.#random.chance(this.#network.lost)) return;
    this.#scheduler.at(at, () => {
      const { cutUntil, frozenUntil } = this.#node;
      if (cutUntil > this.#scheduler.now) return;
      if (frozenUntil > this.#scheduler.now) this.#scheduler.at(frozenUntil, request);
      else request();
    });
  }

  /** A message to the process. */
  #arrive(run: () => void): void {
    if (this.#node.cutUntil > this.#scheduler.now) return;
    if (this.#random.chance(this.#network.lost)) return;
    this.#scheduler.after(this.#latency(), run);
  }

  #latency(): number {
    const { latency, slow, slowest } = this.#network;
    const most = this.#random.chance(slow) ? slowest : latency;
    return this.#random.between(0.05, most);
  }
}
