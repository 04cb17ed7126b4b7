/**
 * Several processes and servers in virtual time, with faults drawn from a seed: lost requests and
 * answers, slow and frozen servers, restarts without memory, a wrong clock.
 *
 * At any time at most a minority of the servers is frozen or without its memory, and one clock is
 * wrong from the beginning. The world counts grants, and notes each violation: two leases that are
 * believed at the same time, and a fence that is not greater than that of the holder before.
 */
import { Holdfast, isHoldfastError } from '../../src/index.js';
import type { Lease } from '../../src/index.js';
import type { Acceptor, Proposal, Vote } from '../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../src/store/quorum/quorum-store.js';
import { VirtualClock } from './virtual-clock.js';

export interface Terms {
  readonly seed: number;
  readonly servers: number;
  readonly processes: number;
  /** Virtual ms of the run. */
  readonly ms: number;
  /** False: servers vote right after a restart without memory. */
  readonly guarded?: boolean;
  /** Replaces the acceptors, to plant a mistake. */
  readonly acceptor?: typeof MemoryAcceptor;
}

export interface Result {
  readonly grants: number;
  readonly restarts: number;
  readonly violations: readonly string[];
}

const TTL = 600;
const KEY = 'k';

/** Random numbers from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A server and its condition. */
interface Node {
  readonly server: MemoryAcceptor;
  /** Until this time the server answers nothing. */
  frozenUntil: number;
  /** Until this time it counts as failed, because it has lost its memory. */
  weakUntil: number;
}

/** The way from one process to one server. */
class Link implements Acceptor {
  readonly label = 'link';
  readonly #node: Node;
  readonly #clock: VirtualClock;
  readonly #random: () => number;
  #last = 0;

  constructor(node: Node, clock: VirtualClock, random: () => number) {
    this.#node = node;
    this.#clock = clock;
    this.#random = random;
  }

  prepare(key: string, ballot: string): Promise<Vote> {
    return this.#send(() => this.#node.server.prepare(key, ballot));
  }

  accept(key: string, proposal: Proposal): Promise<Vote> {
    return this.#send(() => this.#node.server.accept(key, proposal));
  }

  check: Acceptor['check'] = (terms) => this.#send(() => this.#node.server.check(terms));
  keys: Acceptor['keys'] = (prefix) => this.#node.server.keys(prefix);
  subscribe: Acceptor['subscribe'] = (channel, listener) => {
    const message = (text: string): void => {
      if (this.#random() < 0.02) return;
      this.#clock.after(this.#random() * 3, () => listener.message(text), true);
    };
    return this.#node.server.subscribe(channel, { ...listener, message });
  };

  /** A request arrives after some time, in order, or never; the same holds for its answer. */
  #send<T>(request: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      const lost = this.#random();
      if (lost < 0.01) return;
      const slow = this.#random() < 0.02 ? 100 : 2;
      const now = this.#clock.now();
      const at = Math.max(now + this.#random() * slow, this.#node.frozenUntil, this.#last);
      this.#last = at;
      this.#clock.after(at - now, () => {
        const wait = Math.max(0, this.#node.frozenUntil - this.#clock.now());
        this.#clock.after(wait, () => {
          void request().then((answer) => {
            if (lost < 0.02) return;
            this.#clock.after(this.#random() * 2, () => resolve(answer), true);
          });
        });
      });
    });
  }
}

class World {
  grants = 0;
  restarts = 0;
  readonly violations: string[] = [];
  readonly clock: VirtualClock = new VirtualClock();
  readonly nodes: Node[];
  readonly #terms: Terms;
  readonly #random: () => number;
  readonly #leases = new Set<Lease>();
  #fence = 0;
  over = false;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#random = randomOf(terms.seed);
    const Server = terms.acceptor ?? MemoryAcceptor;
    this.nodes = Array.from({ length: terms.servers }, (_, at) => ({
      server: new Server(`s${at}`, this.clock, 3_600_000),
      frozenUntil: 0,
      weakUntil: 0,
    }));
    const wrong = this.nodes[Math.floor(this.#random() * terms.servers)] as Node;
    wrong.server.offset = (this.#random() - 0.5) * 7_200_000;
  }

  process(): Holdfast {
    const { clock } = this;
    const acceptors = this.nodes.map((node) => new Link(node, clock, this.#random));
    const guard = this.#terms.guarded === false ? 0 : 5000;
    const store = new QuorumStore({
      ...{ acceptors: () => acceptors, clock, fraction: this.#random },
      ...{ timeout: 50, guard, durable: false },
    });
    const settings = { ttl: TTL, claimWindow: 200, retention: 1000, requestTimeout: 400 };
    return new Holdfast(store, { ...settings, clock });
  }

  async task(holdfast: Holdfast): Promise<void> {
    while (!this.over) {
      await this.#sleep(this.#random() * 60);
      try {
        const lease = await holdfast.mutex(KEY).acquire({ wait: 4000 });
        await this.#hold(lease);
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
      }
    }
  }

  /** Draws one fault. */
  fault(): void {
    const { nodes, clock } = this;
    const now = clock.now();
    const failed = nodes.filter((one) => one.frozenUntil > now || one.weakUntil > now);
    const node = nodes[Math.floor(this.#random() * nodes.length)] as Node;
    const kind = this.#random();
    if (failed.length >= Math.floor(nodes.length / 2) || failed.includes(node)) return;
    if (kind < 0.5) {
      node.frozenUntil = now + this.#random() * 1500;
    } else {
      node.server.restart('loses');
      this.restarts += 1;
      // it is without its votes until the longest record from before is over
      node.weakUntil = now + (this.#terms.guarded === false ? 300 : 70_000);
    }
  }

  async #hold(lease: Lease): Promise<void> {
    this.grants += 1;
    this.#look();
    if (lease.held && lease.fence <= this.#fence) {
      this.violations.push(`fence ${lease.fence} after ${this.#fence}`);
    }
    this.#fence = Math.max(this.#fence, lease.fence);
    this.#leases.add(lease);
    this.#look();
    await this.#sleep(this.#random() < 0.1 ? this.#random() * 2 * TTL : this.#random() * 20);
    this.#look();
    this.#leases.delete(lease);
    await lease.release();
  }

  #look(): void {
    const held = [...this.#leases].filter((lease) => lease.held);
    if (held.length > 1) this.violations.push(`${held.length} leases at ${this.clock.now()}`);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(ms, resolve));
  }
}

/** Runs a world to its end. */
export async function runQuorum(terms: Terms): Promise<Result> {
  const world = new World(terms);
  const { clock } = world;
  const random = randomOf(terms.seed + 1);
  const all = Array.from({ length: terms.processes }, () => world.process());
  const tasks = all.flatMap((holdfast) => [world.task(holdfast), world.task(holdfast)]);
  const end = clock.now() + terms.ms;
  while (clock.now() < end && world.violations.length === 0) {
    await clock.advance(50 + random() * 400);
    world.fault();
  }
  world.over = true;
  const closing = Promise.all([...tasks, ...all.map((one) => one.close({ grace: 0 }))]);
  let closed = false;
  void closing.finally(() => (closed = true)).catch(() => undefined);
  for (let rest = 0; rest < 60 && !closed; rest++) await clock.advance(1000);
  if (closed) await closing;
  else world.violations.push('a task does not end');
  return { grants: world.grants, restarts: world.restarts, violations: world.violations };
}
