/**
 * Processes with the library's real code on a simulated quorum, in virtual time. One seed
 * determines the whole run.
 *
 * At any time at most a minority of the servers is at fault: without its memory (restarted empty,
 * restarted from an older snapshot, or emptied), or with a wrong clock, which steps or is off by up
 * to a day all the time. In some plans those that are frozen or cut off count too; in others any
 * number is silent for a while beside those at fault, or has missed all values so far. Processes of
 * two prefixes use the same servers in some plans. It asserts:
 *
 * - `belief`: the leases in which processes believe fit the capacity (I1, I7);
 * - `fence`: a grant's fence is above all earlier ones (I2);
 * - `fork`: each value that a majority accepted continues from the one before;
 * - `dropped`: no lease is reported as gone while the chosen state has it;
 * - `stuck`: every acquisition ends (I5); `ghost`: at the end nothing holds or waits (I6), except
 *   in records that the store has forgotten.
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import { Random } from '../base/random.js';
import { Scheduler } from '../base/scheduler.js';
import { Arrivals } from '../common/arrivals.js';
import { type Client, Leases, type Violation } from '../common/leases.js';
import { Line } from '../common/line.js';
import { OVER_MS } from '../common/run-world.js';
import { ORDERED } from '../common/orderly.js';
import { KEYS } from '../common/tasks.js';
import { Machine } from '../world/machine.js';
import { Process } from '../world/process.js';
import { Chosen } from './chosen.js';
import type { QuorumLibrary } from './library.js';
import { Link } from './link.js';
import { EPOCH, Node } from './node.js';
import { CLOCK_RATE, type QuorumPlan } from './plan.js';

/** After this time a server that has not got a value will mostly not get it, in ms. */
const STALE_MS = 15;
/** The prefixes of two applications that use the same servers. */
const PREFIXES = ['holdfast:', 'neighbour:'] as const;
/** A clock that is wrong all the time is off by this much, in ms, at most. */
const OFF_MS = 86_400_000;
/** The longest time without a subscription of a living process, in ms. */
const DEAF_MS = 1000;
/** The longest time for which a server may not vote for a key because of the records of it. */
const RECORD_MS = 800_000;

export class QuorumWorld {
  readonly plan: QuorumPlan;
  /** The store waits for turns of the event loop before it reports a grant. */
  readonly scheduler: Scheduler = new Scheduler(1);
  readonly random: Random;
  readonly nodes: readonly Node[];
  readonly violations: Violation[] = [];
  readonly counts = { restarts: 0, crashes: 0, steps: 0 };
  readonly leases: Leases = new Leases(this);
  readonly arrivals: Arrivals = new Arrivals(this);
  readonly lapses = true;
  readonly prefixes: readonly string[] = PREFIXES;
  readonly chosen: Chosen;
  clients: Client[] = [];
  readonly #library: QuorumLibrary;
  #lives = 0;
  /** True if a server restarts at the next moment that is bad for it. */
  #armed = false;
  /** True after a server has accepted a value. */
  #began = false;
  /** The server whose clock steps. */
  readonly #stepping: Node;
  readonly #links = new Map<Client, Link[]>();
  readonly #deafness: Random;

  constructor(plan: QuorumPlan, library: QuorumLibrary) {
    this.plan = plan;
    this.#library = library;
    this.random = new Random(`quorum ${plan.seed}`).fork('world');
    this.#deafness = new Random(`deaf ${plan.seed}`);
    this.chosen = new Chosen(library, plan.servers, (text) => this.report('fork', text));
    const rates = this.random.fork('rates');
    this.nodes = Array.from({ length: plan.servers }, (_, at) => {
      const rate = 1 + rates.between(-CLOCK_RATE, CLOCK_RATE);
      return new Node(at, rate, library, this.scheduler, (server, key, ballot, value) => {
        if (!this.#began) this.#begin(server);
        const isChosen = this.chosen.accepted(server, key, ballot, value, this.time);
        if (isChosen && plan.orderly) this.#changed(key);
        if (isChosen && this.#armed) this.scheduler.after(STALE_MS, () => this.#worst(key, ballot));
      });
    });
    const offsets = this.random.fork('offsets');
    const right = [...this.nodes];
    for (let wrong = 0; wrong < plan.wrongClocks; wrong++) {
      const [node] = right.splice(offsets.whole(0, right.length - 1), 1);
      (node as Node).server.offset = offsets.spread(100, OFF_MS) * offsets.pick([-1, 1]);
    }
    this.#stepping = right[0] as Node;
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
    const links: Link[] = [];
    const linksTo = (marker: string): Link[] => {
      const made = this.nodes.map((node, at) => {
        const line = new Line(node, process, scheduler, random.fork(at), plan.network);
        return new Link([node, marker], line);
      });
      links.push(...made);
      return made;
    };
    const draws = random.fork('draws');
    const fraction = (): number => draws.next();
    const parts = {
      ...{ acceptors: linksTo, clock: process, fraction },
      ...{ timeout: 50, guard: 5000, durable: plan.durable, minValidity: plan.minValidity },
    };
    const store = new this.#library.QuorumStore(parts, prefix);
    const { ttl, claimWindow, clockMargin, localHandOffs, retention } = plan;
    const holdfast = new this.#library.Holdfast(store, {
      ...{ ttl, claimWindow, clockMargin, localHandOffs, retention, requestTimeout: 400 },
      ...{ clock: process, longWait: Number.POSITIVE_INFINITY },
      randomSource: { id: () => name, fraction, secret: () => draws.next().toString(36) },
    });
    const client = { process, holdfast, prefix };
    this.clients.push(client);
    this.#links.set(client, links);
    return client;
  }

  /** A process ends without notice. */
  crash(client: Client): void {
    client.process.crash();
    this.clients = this.clients.filter((one) => one !== client);
    this.leases.crashed(client);
    this.counts.crashes += 1;
    if (this.plan.deaf) for (const link of this.#links.get(client) ?? []) link.lose(true);
    this.#links.delete(client);
  }

  /** Servers end the subscriptions of a process, for a moment. */
  #deafen(client: Client): void {
    const lost = (this.#links.get(client) ?? []).filter(() => this.#deafness.chance(0.7));
    for (const link of lost) {
      link.lose(false);
      const again = (): void => {
        if (this.#links.has(client)) void link.hearAgain();
      };
      this.scheduler.after(this.#deafness.spread(1, DEAF_MS), again);
    }
  }

  /** At the end, no process has a lease or a place in a queue. */
  async last(until: (ms: number) => Promise<void>): Promise<void> {
    const names = [...KEYS, ORDERED];
    for (let left = RECORD_MS; left > 0 && (await this.#waits()); left -= OVER_MS)
      await until(OVER_MS);
    this.leases.last(names);
  }

  /** The time at which all servers answer again. */
  get silentUntil(): number {
    return Math.max(...this.nodes.map((one) => Math.max(one.frozenUntil, one.cutUntil)));
  }

  /** True if something is left of a key for which too few servers vote to withdraw it. */
  async #waits(): Promise<boolean> {
    for (const { prefix, name } of this.leases.left(KEYS)) {
      const votes = await Promise.all(
        this.nodes.map((node) => node.votesFor(prefix, `${prefix}lock:${name}`, this.time)),
      );
      if (votes.filter(Boolean).length <= this.nodes.length / 2) return true;
    }
    return false;
  }

  #changed(name: string): void {
    const [prefix = '', key = ''] = name.split('lock:');
    const engine = this.chosen.engine(name, key);
    this.arrivals.changed(prefix + key, engine.resource(key), engine.gates.get(key));
  }

  /** Draws a fault, such that at most a minority of the servers is at fault. */
  fault(): void {
    const { nodes, random, scheduler, plan } = this;
    if (plan.orderly) return;
    const now = scheduler.now;
    const client = random.pick(this.clients);
    const node = random.pick(nodes);
    if (plan.saves) random.pick(nodes).server.save();
    if (plan.deaf) for (const one of this.clients) this.#deafen(one);
    const kind = random.next();
    if (kind < 0.1) return this.#disturb(client);
    if (kind < 0.2) return this.#step();
    if (kind < 0.25) return node.server.save();
    if (node.silent(now) || node.weak(this.time)) return;
    const forgets = kind >= 0.8;
    if (forgets || !plan.mute ? !this.#mayFail(node) : this.#away >= nodes.length - 1) return;
    if (kind < 0.5) node.frozenUntil = now + random.spread(10, plan.silence);
    else if (!forgets) node.cutUntil = now + random.spread(10, plan.silence);
    else if (random.chance(0.5)) this.#restart(node);
    else this.#armed = true;
  }

  /** The number of servers that are silent or without their memory. */
  get #away(): number {
    const { nodes, time, scheduler } = this;
    return nodes.filter((one) => one.silent(scheduler.now) || one.weak(time)).length;
  }

  /** True if a server may fail: those that have failed are a minority then. */
  #mayFail(node: Node): boolean {
    const { nodes, plan, scheduler, time } = this;
    const others = nodes.filter((one) => {
      return one !== node && (one.faulty(time) || (!plan.mute && one.silent(scheduler.now)));
    });
    return others.length < Math.floor(nodes.length / 2);
  }

  /** A bare majority has a value: one of these servers restarts. */
  #worst(key: string, ballot: string): void {
    const { nodes, random, scheduler } = this;
    const holders = this.chosen.holders(key, ballot);
    if (!this.#armed || holders === undefined || holders.size > nodes.length / 2 + 1) return;
    const first = nodes[random.pick([...holders])] as Node;
    if (!this.#mayFail(first)) return;
    this.#armed = false;
    this.#restart(first);
    if (!this.plan.mute) return;
    // further ones that have the value forget it too, as many as may
    for (const at of holders) {
      const node = nodes[at] as Node;
      if (this.#mayFail(node) && !node.weak(this.time) && random.chance(0.5)) this.#restart(node);
    }
    // the others that have the value are silent for a moment
    for (const at of holders) {
      const node = nodes[at] as Node;
      if (!node.weak(this.time) && random.chance(0.5)) {
        node.cutUntil = scheduler.now + random.spread(10, this.plan.silence);
      }
    }
  }

  /** The first value is accepted: a minority is out of reach before it gets one. */
  #begin(first: number): void {
    const { absent } = this.plan;
    this.#began = true;
    if (absent === 0) return;
    const { nodes, scheduler } = this;
    const away = nodes.toSpliced(first, 1).slice(0, Math.floor(nodes.length / 2));
    for (const node of away) node.cutUntil = scheduler.now + absent;
    scheduler.after(absent, () => this.#back(away));
  }

  /**
   * Servers without records are back. Of the others, as many as may lose their keys, and the rest
   * is silent.
   */
  #back(away: readonly Node[]): void {
    const { nodes, scheduler, plan } = this;
    for (const node of nodes.filter((one) => !away.includes(one))) {
      if (this.#mayFail(node)) node.empty();
      else node.cutUntil = scheduler.now + plan.silence;
    }
  }

  #disturb(client: Client): void {
    if (this.random.chance(0.7)) return client.process.stop(this.random.spread(5, 2000));
    this.crash(client);
  }

  /** A clock is set, by at most 20 s away from the right time, or to it. */
  #step(): void {
    const { random } = this;
    const node = this.#stepping;
    if (!this.#mayFail(node)) return;
    const isWrong = node.server.offset !== 0;
    node.server.offset = isWrong && random.chance(0.5) ? 0 : random.between(-20_000, 20_000);
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

  /** The chosen state of a lock; `undefined` after the store has forgotten it. */
  state(prefix: string, name: string): Resource | undefined {
    const state = this.chosen.engine(`${prefix}lock:${name}`, name).resource(name);
    return state !== undefined && state.forgetAt > this.time ? state : undefined;
  }
}
