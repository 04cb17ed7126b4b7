/**
 * Processes with the library's real code on one simulated register, in virtual time. One seed
 * determines the whole run.
 *
 * The register keeps its contract (docs/register.md). In some plans it is restored from an older
 * backup, or its clock is set forward: leases with fences up to that time are not judged.
 * It asserts what `common/leases.ts` lists, and:
 *
 * - `repeated`: a version that the register gave is used for one swap;
 * - `stuck`: every acquisition ends (I5), and `close` too.
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import { Random } from '../base/random.js';
import { Scheduler } from '../base/scheduler.js';
import { Arrivals } from '../common/arrivals.js';
import { type Client, Leases, type Violation } from '../common/leases.js';
import { Line } from '../common/line.js';
import { ORDERED } from '../common/orderly.js';
import { KEYS, SEMAPHORE } from '../common/tasks.js';
import { Machine } from '../world/machine.js';
import { Process } from '../world/process.js';
import { SimulatedRegister } from './client.js';
import { END_KEYS } from './ends.js';
import { forged } from './forge.js';
import type { RegisterLibrary } from './library.js';
import type { RegisterPlan } from './plan.js';
import { RegisterServer } from './server.js';

const PREFIX = 'holdfast:';
const LOCK = 'lock:';
/** The keys of tasks beside those of every world. */
export const OWN_KEYS: readonly string[] = ['stock', 'forced', 'guarded', ORDERED, ...END_KEYS];
/** A client that does not close in this time is stuck, in ms. */
const CLOSE_MS = 60_000;
/** How long a process may take to get a lock that has only silent waiters, in ms, twice. */
const VISIT_MS = 20_000;
/** A forced release takes effect this much later than its call, in ms, at most. */
const FORCED_MS = 15_000;
/** A clock that is set forward is set by this much, in ms, at most. */
const FORWARD_MS = 20_000;
/** The messages that are sent again as forged ones. */
const TEXTS_MAX = 50;

export interface RegisterClient extends Client {
  readonly register: SimulatedRegister;
}

export class RegisterWorld {
  readonly plan: RegisterPlan;
  /** The store waits for turns of the event loop. */
  readonly scheduler: Scheduler = new Scheduler(1);
  readonly random: Random;
  readonly server: RegisterServer;
  readonly violations: Violation[] = [];
  readonly counts = { crashes: 0, closes: 0, steps: 0, outages: 0, restores: 0 };
  readonly leases: Leases = new Leases(this);
  readonly arrivals: Arrivals = new Arrivals(this);
  readonly lapses = true;
  readonly prefixes: readonly string[] = [PREFIX];
  clients: RegisterClient[] = [];
  readonly library: RegisterLibrary;
  readonly #texts: string[] = [];
  #lives = 0;

  constructor(plan: RegisterPlan, library: RegisterLibrary) {
    this.plan = plan;
    this.library = library;
    this.random = new Random(`register ${plan.seed}`).fork('world');
    this.server = new RegisterServer(
      plan,
      this.scheduler,
      this.random.fork('server'),
      (channel, text) => this.#publish(channel, text),
    );
    if (plan.orderly) this.server.changed = (key, state) => this.#changed(key, state);
  }

  get time(): number {
    return this.server.time;
  }

  /** Requests on their way make no grant with a greater fence, also if the clock was set back. */
  get lastFence(): number {
    return this.time + (this.server.setBack + FORCED_MS) * 1000;
  }

  get silentUntil(): number {
    const { frozenUntil, cutUntil, outage } = this.server;
    const closed = this.clients.map(({ register }) => register.closedUntil);
    return Math.max(frozenUntil, cutUntil, outage.until, ...closed);
  }

  report(kind: string, text: string): void {
    this.violations.push({ kind, at: this.scheduler.now, text });
  }

  /** The key of the register for a lock. */
  nameOf(name: string, prefix: string = PREFIX): string {
    return prefix + LOCK + name;
  }

  state(prefix: string, name: string): Resource | undefined {
    const { state } = this.server.read(this.nameOf(name, prefix));
    return this.library.decode(name, state).engine.resource(name);
  }

  /** Starts a process. */
  open(): RegisterClient {
    const { plan, scheduler, server, library } = this;
    this.#lives += 1;
    const name = `p${this.#lives}`;
    const random = this.random.fork(name);
    const machine = new Machine(
      name,
      1 + random.between(-4e-3, 4e-3),
      1e6 * random.next(),
      1.7e12 + random.between(-1e9, 1e9),
    );
    const process = new Process(name, machine, scheduler, random.fork('timers'));
    const line = new Line(server, process, scheduler, random.fork('line'), plan.network);
    const { RegisterError } = library;
    const register = new SimulatedRegister({
      ...{ plan, server, process, scheduler, line, RegisterError },
      random: random.fork('register'),
      report: (kind, text) => this.report(kind, `${name}: ${text}`),
    });
    const draws = random.fork('draws');
    const fraction = (): number => draws.next();
    const timeout = plan.endless ? plan.timeout : undefined;
    const store = new library.RegisterStore(register, { clock: process, fraction, timeout });
    const { ttl, claimWindow, localHandOffs, retention } = plan;
    const holdfast = new library.Holdfast(store, {
      ...{ ttl, claimWindow, localHandOffs, retention, requestTimeout: 400 },
      ...{ clock: process, longWait: Number.POSITIVE_INFINITY },
      randomSource: { id: () => name, fraction, secret: () => draws.next().toString(36) },
    });
    const client = { process, holdfast, prefix: PREFIX, register };
    this.clients.push(client);
    return client;
  }

  #changed(name: string, state: string): void {
    const key = name.slice(PREFIX.length + LOCK.length);
    const { engine } = this.library.decode(key, state);
    this.arrivals.changed(PREFIX + key, engine.resource(key), engine.gates.get(key));
  }

  /** Draws a fault. */
  fault(): void {
    const { random, scheduler, plan, server } = this;
    if (plan.orderly) return;
    const { now } = scheduler;
    const client = random.pick(this.clients);
    const until = now + random.spread(10, plan.silence);
    const kind = random.next();
    if (kind < 0.2) client.process.stop(random.spread(5, 2000));
    else if (kind < 0.25) this.#crash(client);
    else if (kind < 0.3) this.#close(client);
    else if (kind < 0.4) this.#step();
    else if (kind < 0.5) server.frozenUntil = until;
    else if (kind < 0.6) server.cutUntil = until;
    else if (kind < 0.65) client.register.closedUntil = until;
    else if (kind < 0.85) {
      this.counts.outages += 1;
      const fails = random.pick(['refused', 'transient', 'unanswered', 'unanswered'] as const);
      const isTransient = fails === 'refused' && !plan.refuses;
      server.outage = { kind: isTransient ? 'transient' : fails, until };
    } else if (kind < 0.92) this.#deafen(until);
    else if (kind < 0.96 || !plan.excused) server.save();
    else this.#restore();
  }

  /** At the end, no process has a lease or a place in a queue. */
  async last(until: (ms: number) => Promise<void>): Promise<void> {
    // a backup brings a lease back that was released since, and that of `long` lasts for minutes
    const kept = KEYS.filter((key) => this.counts.restores === 0 || key !== 'long');
    const names = [...kept, ...OWN_KEYS];
    // leases last longer by as much as the clock was set back
    await until(this.server.setBack);
    // a restored backup may also have a waiter that has ended since
    if (this.plan.refuses || this.counts.restores > 0) {
      const left = [...this.leases.left(names)].map(({ name }) => name);
      // a visit by an instance that closes leaves the waiter, and the check reports it
      for (const name of left) void this.#visit(name).catch(() => undefined);
      await until(VISIT_MS);
    }
    this.leases.last(names);
  }

  /** A process that takes a lock passes waiters that are silent. */
  async #visit(name: string): Promise<void> {
    const [{ holdfast }] = this.clients as [RegisterClient];
    const limits = { wait: VISIT_MS / 2 };
    let lease;
    if (name === 'rw') lease = await holdfast.rwLock(name).write.tryAcquire(limits);
    else if (name === 'semaphore') {
      const semaphore = holdfast.semaphore(name, { permits: SEMAPHORE });
      lease = await semaphore.tryAcquire(SEMAPHORE, limits);
    } else lease = await holdfast.mutex(name).tryAcquire(limits);
    await lease?.release();
  }

  /** A process ends without notice. */
  #crash(client: RegisterClient): void {
    this.counts.crashes += 1;
    this.#end(client);
  }

  #end(client: RegisterClient): void {
    client.process.crash();
    this.#leave(client);
    this.leases.crashed(client);
  }

  #leave(client: RegisterClient): void {
    this.clients = this.clients.filter((one) => one !== client);
  }

  /** A process closes the library, and ends. Another one takes its place. */
  #close(client: RegisterClient): void {
    const { scheduler, random } = this;
    this.counts.closes += 1;
    this.#leave(client);
    const grace = random.pick([0, 500]);
    const since = scheduler.now;
    let isClosed = false;
    client.process.deliver('task', () => {
      void client.holdfast.close({ grace }).then(() => {
        isClosed = true;
        this.#end(client);
      });
    });
    const check = (): void => {
      if (!isClosed) this.report('stuck', `${client.process.name} does not close`);
    };
    scheduler.at(since + CLOSE_MS, check);
  }

  /** Its clock gets another speed and is set back, or forward if that is excused. */
  #step(): void {
    this.counts.steps += 1;
    if (!this.plan.excused || this.random.chance(0.5)) return void this.server.stepBack();
    this.server.stepForward(this.random.spread(1, FORWARD_MS));
    this.#excuse();
  }

  #restore(): void {
    this.counts.restores += 1;
    this.server.restore();
    for (const { register } of this.clients) register.restored();
    this.#excuse();
  }

  /** Requests that are on their way may still make grants that are lost. */
  #excuse(): void {
    this.leases.excuse(this.lastFence);
  }

  /** The connections for messages of all processes are broken for a while. */
  #deafen(until: number): void {
    const all = [...this.server.listeners.values()].flatMap((some) => [...some]);
    for (const one of all) one.down();
    this.scheduler.at(until, () => {
      for (const one of all) one.up();
    });
  }

  /** A swap sent a message. Sometimes another client sends one that looks like it. */
  #publish(channel: string, text: string): void {
    const { random, plan, server } = this;
    const send = (one: string): void => {
      for (const listener of server.listeners.get(channel) ?? []) listener.message(one);
    };
    send(text);
    this.#texts.push(text);
    if (this.#texts.length > TEXTS_MAX) this.#texts.shift();
    if (random.chance(plan.strange)) send(forged(random, this.#texts));
  }
}
