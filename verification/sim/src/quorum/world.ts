/**
 * Processes with the library's real code on a simulated quorum, in virtual time. One seed
 * determines the whole run.
 *
 * At most a minority of the servers is without its memory at a time: restarted empty, restarted
 * from an older snapshot, or emptied. At most a minority has a wrong clock: one that steps, or that
 * is off by up to a day all the time. In some plans at most a minority of the servers fails in any
 * of these ways or is frozen or cut off; in others any number is silent for a while beside those.
 * Processes of two prefixes use the same servers in some plans. It asserts:
 *
 * - `belief`: the leases in which processes believe fit the capacity (I1, I7);
 * - `fence`: a grant's fence is above all earlier ones (I2);
 * - `fork`: each value that a majority accepted continues from the one before;
 * - `dropped`: no lease is reported as gone while the chosen state has it;
 * - `stuck`: every acquisition ends (I5); `ghost`: at the end nothing holds or waits (I6), except
 *   in records that the store has forgotten.
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

/** After this time a server that has not got a value will mostly not get it, in ms. */
const STALE_MS = 15;
/** The prefixes of two applications that use the same servers. */
const PREFIXES = ['holdfast:', 'neighbour:'] as const;
/** A clock that is wrong all the time is off by this much, in ms, at most. */
const OFF_MS = 86_400_000;

export interface Violation {
  readonly kind: string;
  readonly at: number;
  readonly text: string;
}

/** A lease in which a process believes. */
interface Belief {
  readonly lease: Lease;
  readonly weight: number;
  readonly client: Client;
}

/** What processes have left behind of a key. */
interface Left {
  readonly prefix: string;
  readonly name: string;
  readonly key: string;
  readonly text: string;
}

interface Key {
  readonly prefix: string;
  readonly name: string;
  readonly capacity: number;
  readonly beliefs: Set<Belief>;
  fence: number;
}

/** A process with the library, until it crashes. */
export interface Client {
  readonly process: Process;
  readonly holdfast: Holdfast;
  readonly prefix: string;
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
    const offsets = this.random.fork('offsets');
    const right = [...this.nodes];
    for (let wrong = 0; wrong < plan.wrongClocks; wrong++) {
      const [node] = right.splice(offsets.whole(0, right.length - 1), 1);
      (node as Node).server.offset = offsets.spread(100, OFF_MS) * offsets.pick([-1, 1]);
    }
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
    const prefix = PREFIXES[plan.neighbours ? this.#lives % 2 : 0] as string;
    const random = this.random.fork(name);
    const machine = new Machine(name, 1 + random.between(-4e-3, 4e-3), 1e6 * random.next(), EPOCH);
    const process = new Process(name, machine, scheduler, random.fork('timers'));
    const linksTo = (marker: string): Link[] =>
      this.nodes.map((node, at) => {
        return new Link([node, marker], process, scheduler, random.fork(at), plan.network);
      });
    const draws = random.fork('draws');
    const fraction = (): number => draws.next();
    const parts = {
      ...{ acceptors: linksTo, clock: process, fraction },
      ...{ timeout: 50, guard: 5000, durable: plan.durable },
    };
    const store = new this.#library.QuorumStore(parts, prefix);
    const { ttl, claimWindow, localHandOffs, retention } = plan;
    const holdfast = new this.#library.Holdfast(store, {
      ...{ ttl, claimWindow, localHandOffs, retention, requestTimeout: 400 },
      ...{ clock: process, longWait: Number.POSITIVE_INFINITY },
      randomSource: { id: () => name, fraction, secret: () => draws.next().toString(36) },
    });
    const client = { process, holdfast, prefix };
    this.clients.push(client);
    return client;
  }

  /** A process ends without notice. */
  crash(client: Client): void {
    client.process.crash();
    this.clients = this.clients.filter((one) => one !== client);
    for (const { beliefs } of this.#keys.values()) {
      for (const belief of beliefs) if (belief.client === client) beliefs.delete(belief);
    }
    this.counts.crashes += 1;
  }

  /** A lease was granted. Returns a function to call before it is released. */
  granted(name: string, capacity: number, belief: Belief): () => void {
    const { prefix } = belief.client;
    const none = { prefix, name, capacity, beliefs: new Set<Belief>(), fence: 0 };
    const key: Key = this.#keys.get(prefix + name) ?? none;
    this.#keys.set(prefix + name, key);
    this.counts.grants += 1;
    const { lease, weight } = belief;
    if (lease.held && weight === capacity) {
      if (lease.fence <= key.fence) this.report('fence', `${lease.fence} after ${key.fence}`);
      key.fence = Math.max(key.fence, lease.fence);
    }
    key.beliefs.add(belief);
    lease.signal.addEventListener('abort', () => this.#lost(key, belief), { once: true });
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
    for (const { key, text } of this.#left(names)) this.report('ghost', `${key} ${text}`);
  }

  /** True if something is left of a key for which too few servers vote to withdraw it. */
  async waits(names: readonly string[]): Promise<boolean> {
    for (const { prefix, name } of this.#left(names)) {
      const votes = await Promise.all(
        this.nodes.map((node) => node.votesFor(prefix, `${prefix}lock:${name}`, this.time)),
      );
      if (votes.filter(Boolean).length <= this.nodes.length / 2) return true;
    }
    return false;
  }

  /** The leases and places that living processes still have. */
  *#left(names: readonly string[]): Iterable<Left> {
    const alive = new Set(this.clients.map(({ process }) => process.name));
    const isAlive = (id: string): boolean => alive.has(id.slice(0, id.lastIndexOf('.')));
    for (const [prefix, name] of names.flatMap((one) =>
      PREFIXES.map((two) => [two, one] as const),
    )) {
      const resource = this.#state(prefix, name);
      if (resource === undefined) continue;
      const holds = [...resource.holders.keys()].filter((id) => {
        return isAlive(id) && resource.leaseOf(id, this.time) !== undefined;
      });
      const waits = [...resource.waiters.keys()].filter(isAlive);
      if (holds.length + waits.length === 0) continue;
      const [held, waited] = [holds.join(' '), waits.join(' ')];
      const text = `is held by [${held}], and [${waited}] wait for it`;
      yield { prefix, name, key: prefix + name, text };
    }
  }

  /** Draws a fault, such that a minority of the servers is without its memory. */
  fault(): void {
    const { nodes, random, scheduler, plan } = this;
    const now = scheduler.now;
    const client = random.pick(this.clients);
    const node = random.pick(nodes);
    if (plan.saves) random.pick(nodes).server.save();
    const kind = random.next();
    if (kind < 0.1) return this.#disturb(client);
    if (kind < 0.2) return this.#step();
    if (kind < 0.25) return node.server.save();
    const most = plan.mute ? nodes.length - 1 : Math.floor(nodes.length / 2);
    if (node.silent(now) || node.weak(this.time)) return;
    if (this.#failed >= most) return;
    if (kind < 0.5) node.frozenUntil = now + random.spread(10, plan.silence);
    else if (kind < 0.8) node.cutUntil = now + random.spread(10, plan.silence);
    else if (!this.#mayForget) return;
    else if (random.chance(0.5)) this.#restart(node);
    else this.#armed = true;
  }

  /** The number of servers that are silent or without their memory. */
  get #failed(): number {
    const { nodes, time, scheduler } = this;
    return nodes.filter((one) => one.silent(scheduler.now) || one.weak(time)).length;
  }

  /** True if one more server may lose its memory. */
  get #mayForget(): boolean {
    const weak = this.nodes.filter((one) => one.weak(this.time)).length;
    return weak < Math.floor(this.nodes.length / 2);
  }

  /** A bare majority has a value: one of these servers restarts. */
  #worst(key: string, ballot: string): void {
    const { nodes, random, scheduler } = this;
    const holders = this.chosen.holders(key, ballot);
    if (!this.#armed || holders === undefined || holders.size > nodes.length / 2 + 1) return;
    if (!this.#mayForget || (!this.plan.mute && this.#failed > 0)) return;
    this.#armed = false;
    this.#restart(nodes[random.pick([...holders])] as Node);
    if (!this.plan.mute) return;
    // further ones that have the value forget it too, as many as may
    for (const at of holders) {
      const node = nodes[at] as Node;
      if (this.#mayForget && !node.weak(this.time) && random.chance(0.5)) this.#restart(node);
    }
    // the others that have the value are silent for a moment
    for (const at of holders) {
      const node = nodes[at] as Node;
      if (!node.weak(this.time) && random.chance(0.5)) {
        node.cutUntil = scheduler.now + random.spread(10, this.plan.silence);
      }
    }
  }

  #disturb(client: Client): void {
    if (this.random.chance(0.7)) return client.process.stop(this.random.spread(5, 2000));
    this.crash(client);
  }

  /** The clock of the first server is set, by at most 20 s away from the others. */
  #step(): void {
    const { nodes, random, plan } = this;
    if (plan.wrongClocks >= Math.floor(nodes.length / 2)) return;
    (nodes[0] as Node).server.offset = random.between(-20_000, 20_000);
    this.counts.steps += 1;
  }

  #restart(node: Node): void {
    const { durable } = this.plan;
    const { random } = this;
    this.counts.restarts += 1;
    if (durable) return node.restart('keeps', true);
    if (random.chance(0.2)) return node.empty();
    node.restart(random.pick(['keeps', 'saved', 'saved', 'loses']), false);
  }

  /** The time of all leases is bounded, so a lease that ends early was dropped by an error. */
  #lost({ prefix, name }: Key, { lease, client }: Belief): void {
    const { message } = lease.signal.reason as Error;
    if (!client.process.alive || !message.includes('does not know it any more')) return;
    const holder = this.#state(prefix, name)?.leaseOf(lease.id, this.time);
    if (holder !== undefined) this.report('dropped', `${lease.id} of ${name}: ${message}`);
  }

  /** The chosen state of a lock; `undefined` after the store has forgotten it. */
  #state(prefix: string, name: string): Resource | undefined {
    const state = this.chosen.engine(`${prefix}lock:${name}`, name).resource(name);
    return state !== undefined && state.forgetAt > this.time ? state : undefined;
  }
}
