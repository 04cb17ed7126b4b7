/**
 * Processes with the library's real code on a simulated quorum, in virtual time. One seed
 * determines the whole run.
 *
 * At any time at most a minority of the servers is frozen, cut off or without its memory, and the
 * clock of one server steps. It asserts:
 *
 * - `belief`: the leases in which processes believe fit the capacity (I1, I7);
 * - `fence`: a grant's fence is above all earlier ones (I2);
 * - `fork`: each value that a majority accepted continues from the one before;
 * - `dropped`: no lease is reported as gone while the chosen state has it;
 * - `stuck`: every acquisition ends (I5); `ghost`: at the end nothing holds or waits (I6).
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { Holdfast, Lease } from '../../../../packages/holdfast/dist/index.js';
import { Random } from '../base/random.js';
import { Scheduler } from '../base/scheduler.js';
import { Machine } from '../world/machine.js';
import { Process } from '../world/process.js';
import { Chosen } from './chosen.js';
import type { QuorumLibrary } from './library.js';
import { Link } from './link.js';
import { EPOCH, Node } from './node.js';
import type { QuorumPlan } from './plan.js';

/** How long a server that has lost its memory counts as failed, in ms. */
const WEAK_MS = 75_000;
/** After this time a server that has not got a value will mostly not get it, in ms. */
const STALE_MS = 15;
const PREFIX = 'holdfast:';

export interface Violation {
  readonly kind: string;
  readonly at: number;
  readonly text: string;
}

/** A lease in which a process believes. */
interface Belief {
  readonly lease: Lease;
  readonly weight: number;
  readonly process: Process;
}

interface Key {
  readonly capacity: number;
  readonly beliefs: Set<Belief>;
  fence: number;
}

/** A process with the library, until it crashes. */
export interface Client {
  readonly process: Process;
  readonly holdfast: Holdfast;
}

export class QuorumWorld {
  readonly plan: QuorumPlan;
  /** The store waits for turns of the event loop before it reports a grant. */
  readonly scheduler: Scheduler = new Scheduler(1);
  readonly random: Random;
  readonly nodes: readonly Node[];
  readonly violations: Violation[] = [];
  readonly counts = { grants: 0, restarts: 0, crashes: 0, steps: 0 };
  readonly chosen: Chosen;
  clients: Client[] = [];
  readonly #library: QuorumLibrary;
  readonly #keys = new Map<string, Key>();
  #lives = 0;
  /** True if a server restarts at the next moment that is bad for it. */
  #armed = false;

  constructor(plan: QuorumPlan, library: QuorumLibrary) {
    this.plan = plan;
    this.#library = library;
    this.random = new Random(`quorum ${plan.seed}`).fork('world');
    this.chosen = new Chosen(library, plan.servers, (text) => this.report('fork', text));
    const rates = this.random.fork('rates');
    this.nodes = Array.from({ length: plan.servers }, (_, at) => {
      const rate = 1 + rates.between(-1e-4, 1e-4);
      return new Node(at, rate, library, this.scheduler, (server, key, ballot, value) => {
        const isChosen = this.chosen.accepted(server, key, ballot, value, this.time);
        if (isChosen && this.#armed) this.scheduler.after(STALE_MS, () => this.#worst(key, ballot));
      });
    });
  }

  /** The time of the servers with right clocks, in µs. */
  get time(): number {
    return (EPOCH + this.scheduler.now) * 1000;
  }

  report(kind: string, text: string): void {
    this.violations.push({ kind, at: this.scheduler.now, text });
  }

  /** Starts a process. */
  open(): Client {
    const { plan, scheduler } = this;
    this.#lives += 1;
    const name = `p${this.#lives}`;
    const random = this.random.fork(name);
    const machine = new Machine(name, 1 + random.between(-4e-3, 4e-3), 1e6 * random.next(), EPOCH);
    const process = new Process(name, machine, scheduler, random.fork('timers'));
    const links = this.nodes.map((node, at) => {
      return new Link(node, process, scheduler, random.fork(at), plan.network);
    });
    const draws = random.fork('draws');
    const fraction = (): number => draws.next();
    const store = new this.#library.QuorumStore({
      ...{ acceptors: () => links, clock: process, fraction },
      ...{ timeout: 50, guard: 5000, durable: plan.durable },
    });
    const { ttl, claimWindow, localHandOffs } = plan;
    const holdfast = new this.#library.Holdfast(store, {
      ...{ ttl, claimWindow, localHandOffs, retention: 1000, requestTimeout: 400 },
      ...{ clock: process, longWait: Number.POSITIVE_INFINITY },
      randomSource: { id: () => name, fraction, secret: () => draws.next().toString(36) },
    });
    const client = { process, holdfast };
    this.clients.push(client);
    return client;
  }

  /** A process ends without notice. */
  crash(client: Client): void {
    client.process.crash();
    this.clients = this.clients.filter((one) => one !== client);
    for (const { beliefs } of this.#keys.values()) {
      for (const belief of beliefs) if (belief.process === client.process) beliefs.delete(belief);
    }
    this.counts.crashes += 1;
  }

  /** A lease was granted. Returns a function to call before it is released. */
  granted(name: string, capacity: number, belief: Belief): () => void {
    const key = this.#keys.get(name) ?? { capacity, beliefs: new Set(), fence: 0 };
    this.#keys.set(name, key);
    this.counts.grants += 1;
    const { lease, weight } = belief;
    if (lease.held && weight === capacity) {
      if (lease.fence <= key.fence) this.report('fence', `${lease.fence} after ${key.fence}`);
      key.fence = Math.max(key.fence, lease.fence);
    }
    key.beliefs.add(belief);
    lease.signal.addEventListener('abort', () => this.#lost(name, belief), { once: true });
    this.look();
    return () => {
      this.look();
      key.beliefs.delete(belief);
    };
  }

  /** Compares the leases in which processes believe with the capacity. */
  look(): void {
    for (const [name, { capacity, beliefs }] of this.#keys) {
      let used = 0;
      for (const { lease, weight } of beliefs) if (lease.held) used += weight;
      if (used <= capacity) continue;
      const ids = [...beliefs].map(({ lease }) => lease.id).join(' ');
      this.report('belief', `${used} of ${capacity} of ${name}: ${ids}`);
    }
  }

  /** At the end, no process has a lease or a place in a queue. */
  last(names: readonly string[]): void {
    const alive = new Set(this.clients.map(({ process }) => process.name));
    const isAlive = (id: string): boolean => alive.has(id.slice(0, id.lastIndexOf('.')));
    for (const name of names) {
      const resource = this.#state(name);
      if (resource === undefined) continue;
      const holds = [...resource.holders.keys()].filter((id) => {
        return isAlive(id) && resource.leaseOf(id, this.time) !== undefined;
      });
      const waits = [...resource.waiters.keys()].filter(isAlive);
      if (holds.length + waits.length === 0) continue;
      const [held, waited] = [holds.join(' '), waits.join(' ')];
      this.report('ghost', `${name} is held by [${held}], and [${waited}] wait for it`);
    }
  }

  /** Draws a fault, such that a majority of the servers stays in order. */
  fault(): void {
    const { nodes, random, scheduler } = this;
    const now = scheduler.now;
    const client = random.pick(this.clients);
    const node = random.pick(nodes);
    const kind = random.next();
    if (kind < 0.1) return this.#disturb(client);
    if (kind < 0.2) return this.#step();
    const failed = nodes.filter((one) => one.failed(now)).length;
    if (failed >= Math.floor(nodes.length / 2) || node.failed(now)) return;
    if (kind < 0.5) node.frozenUntil = now + random.spread(10, 1500);
    else if (kind < 0.8) node.cutUntil = now + random.spread(10, 1500);
    else if (random.chance(0.3)) this.#restart(node);
    else this.#armed = true;
  }

  /** A bare majority has a value: one of these servers restarts. */
  #worst(key: string, ballot: string): void {
    const { nodes, random, scheduler } = this;
    const holders = this.chosen.holders(key, ballot);
    if (!this.#armed || holders === undefined || holders.size > nodes.length / 2 + 1) return;
    if (nodes.some((one) => one.failed(scheduler.now))) return;
    this.#armed = false;
    this.#restart(nodes[random.pick([...holders])] as Node);
  }

  #disturb(client: Client): void {
    if (this.random.chance(0.7)) return client.process.stop(this.random.spread(5, 2000));
    this.crash(client);
  }

  /** The clock of the first server is set, by at most 20 s away from the others. */
  #step(): void {
    const { server } = this.nodes[0] as Node;
    server.offset = this.random.between(-20_000, 20_000);
    this.counts.steps += 1;
  }

  #restart(node: Node): void {
    const { durable } = this.plan;
    node.server.restart(durable || this.random.chance(0.3) ? 'keeps' : 'loses');
    if (!durable) node.weakUntil = this.scheduler.now + WEAK_MS;
    this.counts.restarts += 1;
  }

  /** The time of all leases is bounded, so a lease that ends early was dropped by an error. */
  #lost(name: string, { lease, process }: Belief): void {
    const { message } = lease.signal.reason as Error;
    if (!process.alive || !message.includes('does not know it any more')) return;
    const holder = this.#state(name)?.leaseOf(lease.id, this.time);
    if (holder !== undefined) this.report('dropped', `${lease.id} of ${name}: ${message}`);
  }

  /** The chosen state of a lock. */
  #state(name: string): Resource | undefined {
    return this.chosen.engine(`${PREFIX}lock:${name}`, name).resource(name);
  }
}
