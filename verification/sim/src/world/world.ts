/** All objects of one simulation, built from a plan. */
import type { Happening } from 'holdfast-checker';
import type { Lease } from '../../../../packages/holdfast/dist/index.js';
import { Random } from '../base/random.js';
import { Scheduler } from '../base/scheduler.js';
import { Arrivals, type Judge } from '../common/arrivals.js';
import type { Library } from '../library.js';
import { singly } from '../net/commands.js';
import { Path } from '../net/path.js';
import { Server } from '../net/server.js';
import {
  type MachinePlan,
  ownerOf,
  type Plan,
  type ProcessPlan,
  type TaskPlan,
} from '../plan/plan.js';
import { HoldRules } from '../watch/holds.js';
import { KindRules } from '../watch/kinds.js';
import { Order } from '../watch/order.js';
import { nameOf } from '../plan/turns.js';
import { answersInTime, Promises } from '../watch/promises.js';
import { RootRules } from '../watch/root-rules.js';
import { Watch } from '../watch/watch.js';
import type { Attempt } from '../work/attempt.js';
import { History } from '../work/history.js';
import { Meetings } from '../work/meetings.js';
import { isFamily } from '../work/family/perform.js';
import { perform } from '../work/performer.js';
import { Client } from './client.js';
import { Machine } from './machine.js';
import { Mishaps } from './mishaps.js';

/** The kind of a violation that the engine's own assertions report. */
export const INVARIANT = 'invariant';

/** A violated assertion. */
export interface Violation {
  readonly kind: string;
  readonly t: number;
  readonly key: string;
  readonly text: string;
}

export type Trace = (text: () => string) => void;

interface Forced {
  readonly key: string;
  /** The root that it named, or `''`. */
  readonly id: string;
  readonly ended: readonly string[];
}

export class World {
  readonly scheduler: Scheduler = new Scheduler();
  readonly plan: Plan;
  readonly server: Server;
  readonly machines: Map<string, Machine> = new Map();
  readonly paths: Map<string, { readonly up: Path; readonly down: Path }> = new Map();
  /** The current client of each process. */
  readonly clients: Map<string, Client> = new Map();
  readonly attempts: Map<string, Attempt> = new Map();
  readonly history: History;
  readonly watch: Watch;
  readonly promises: Promises = new Promises(this);
  readonly roots: RootRules = new RootRules(this);
  readonly order: Order = new Order(this);
  /** The order of the queues in true time. */
  readonly arrivals: Arrivals = new Arrivals(judgeOf(this), {
    nameOf,
    isClear: (name, since) => this.#isClear(name, since),
  });
  readonly kinds: KindRules = new KindRules(this);
  readonly holds: HoldRules = new HoldRules(this);
  readonly meetings: Meetings = new Meetings();
  /** The agreed number of permits of each key. */
  readonly permits: Map<string, number> = new Map();
  readonly violations: Violation[] = [];
  /** The first broken invariant of the engine. */
  broken: string | undefined;
  /** Attempts of living processes that have not ended. */
  open = 0;
  grants = 0;
  /** When the server's clock was set: places in its queue are times of that clock. */
  serverSetAt: number = Number.NEGATIVE_INFINITY;
  /** The smallest remaining time of a lease when its holder got it, as a part of its length. */
  shortest = 1;
  readonly library: Library;
  readonly #random: Random;
  readonly #trace: Trace | undefined;
  readonly #disturbances = new Map<string, number>();
  readonly #lives = new Map<string, number>();
  /** Each forced release that the server executed, and the ids of the leases that it ended. */
  readonly forced: Forced[] = [];
  /** Writes that the resource has accepted or refused. */
  #writes = 0;
  readonly #fences = new Map<string, number>();

  constructor(plan: Plan, library: Library, print: ((line: string) => void) | undefined) {
    this.plan = plan;
    this.library = library;
    this.#random = new Random(`world/${plan.seed}`);
    const { scheduler } = this;
    this.#trace = print && ((text) => print(`${scheduler.now.toFixed(3).padStart(14)} ${text()}`));
    this.history = new History(this.#trace);
    const replicated = plan.faults.some(
      (one) => one.kind === 'restart' && one.memory === 'replica',
    );
    this.watch = new Watch(this, patience(plan));
    this.server = new Server(library, scheduler, machineOf(plan.server), {
      random: this.#random.fork('server'),
      events: {
        before: (command) => {
          for (const one of singly(command)) {
            this.watch.before(one);
            this.promises.before(one);
            this.roots.before(one);
            this.kinds.before(one);
          }
        },
        after: (command, reply) => {
          for (const one of singly(command)) {
            this.watch.after(one);
            this.promises.after(one, reply);
            this.roots.after(one);
            this.order.after(one);
            this.kinds.after(one);
            this.holds.after(one);
            this.arrivals.changed(one.key, this.server.engine.resource(one.key), undefined);
          }
          if (command.op === 'forceRelease' && reply.status === 'forced') {
            this.forced.push({ key: command.key, id: command.id, ended: reply.ended });
          }
          if (command.op === 'acquire' && reply.status === 'queued') {
            this.#queued(command.id, command.key, reply.ticket);
          }
          if (command.op === 'turn' && 'again' in reply && reply.again.status === 'queued') {
            this.#queued(command.again, command.key, reply.again.ticket);
          }
        },
      },
      replicated,
      blind: plan.server.blind === true,
      cost: plan.load?.cost ?? 0,
    });
    this.history.note(scheduler.now, '-', beginning(plan));
    for (const machine of plan.machines) this.#addMachine(machine);
    for (const process of plan.processes) this.start(process);
    for (const tasks of steps(plan.tasks)) {
      const [{ at, process }] = tasks as [TaskPlan];
      scheduler.at(at, () => {
        const client = this.clients.get(process);
        client?.process.deliver('task', () => {
          for (const task of tasks) perform(this, client, task);
        });
      });
    }
    const mishaps = new Mishaps(this);
    for (const fault of plan.faults) scheduler.at(fault.at, () => mishaps.happen(fault));
    scheduler.at(plan.calm, () => {
      mishaps.calm();
      this.history.note(scheduler.now, '-', { e: 'calm' });
    });
  }

  /** Starts a process. */
  start(plan: ProcessPlan): void {
    const life = (this.#lives.get(plan.name) ?? 0) + 1;
    this.#lives.set(plan.name, life);
    const { scheduler, server } = this;
    const machine = this.machines.get(plan.machine) as Machine;
    const paths = this.paths.get(plan.machine) as { up: Path; down: Path };
    const own = { library: this.library, random: this.#random, trace: this.#trace };
    const client = new Client(plan, life, { scheduler, server, machine, paths, ...own });
    // it may start during a fault
    client.process.disturb(this.#disturbances.get(plan.machine) ?? 0);
    const { load } = this.plan;
    if (load !== undefined) client.process.slow(load.lag);
    this.clients.set(plan.name, client);
  }

  /** A fault affects all processes of a machine until a time. */
  disturb(machine: string, until: number): void {
    this.#disturbances.set(machine, Math.max(this.#disturbances.get(machine) ?? 0, until));
    for (const { process } of this.clients.values()) {
      if (process.machine.name === machine) process.disturb(until);
    }
  }

  /** Kills a process without warning. */
  kill(client: Client, tellsServerAfter: number): void {
    this.history.note(this.scheduler.now, client.name, { e: 'crash' });
    client.process.crash();
    this.holds.died(client.name);
    client.redis.abandon(this.scheduler.now + tellsServerAfter);
    for (const attempt of this.attempts.values()) {
      if (attempt.client !== client || attempt.over) continue;
      attempt.overAt = this.scheduler.now;
      this.ended(attempt);
    }
  }

  called(attempt: Attempt): void {
    const { name, client, task, askedAt: at } = attempt;
    const { key, primitive, fair, ttl, renew, maxHold, wait = Number.POSITIVE_INFINITY } = task;
    const terms = [ttl, renew, maxHold].join(' ');
    // one that joins a lease of its owner is granted without a lease of its own
    const until = ownerOf(task) === undefined ? at + 0.99 * wait - 2 : at;
    const isFair = fair || primitive !== 'mutex';
    this.arrivals.called({ name, by: client.name, key, terms, fair: isFair, at, until });
  }

  /** Nothing has disturbed the process of an attempt or the server, and the network is fast. */
  #isClear(name: string, since: number): boolean {
    const { client } = this.attempts.get(name) as Attempt;
    const isSet = this.serverSetAt >= since;
    if (isSet || !client.process.alive || client.clearSince >= since) return false;
    return answersInTime(this, client);
  }

  granted(attempt: Attempt, lease: Lease): void {
    this.grants += 1;
    this.arrivals.granted(attempt.task.key, attempt.name, lease.id);
    const { ttl } = attempt.task;
    this.shortest = Math.min(this.shortest, lease.remaining / ttl);
    this.watch.believes(attempt);
    this.watch.visit(attempt.task.key);
  }

  ended(attempt: Attempt): void {
    this.open -= 1;
    this.arrivals.ended(attempt.task.key, attempt.name);
    this.watch.over(attempt);
  }

  /** Asserts that a closed client has no leases and no waiters. */
  leftovers({ name, process, redis }: Client, nextTimer: number): void {
    const left = [...process.timers].filter((number) => number < nextTimer);
    if (left.length > 0) this.report('timer', '', `${name} has ${left.length} timers after close`);
    const listens = [...redis.subscriptions].some(({ isOpen }) => isOpen);
    if (listens) this.report('listener', '', `${name} has a subscription after close`);
  }

  /** Writes to the resource that the lock protects; the write arrives later. */
  use(attempt: Attempt, fence: number, late: number): Promise<void> {
    const { client, task } = attempt;
    this.scheduler.at(client.process.time + late, () => {
      const accepted = fence >= (this.#fences.get(task.key) ?? 0);
      if (accepted) this.#fences.set(task.key, fence);
      const sent = this.scheduler.now;
      this.#writes += 1;
      const about = { k: task.key, a: task.name, fence, accepted };
      this.history.note(sent, client.name, { e: 'use', ...about, sent, at: this.#writes });
    });
    return Promise.resolve();
  }

  /**
   * The engine breaks an invariant (`engine/assertions.ts`). This kind is apart from the others: it
   * reads the engine's inside, so it says nothing about what the other assertions detect.
   */
  invariant(key: string, problem: string): void {
    this.broken ??= `${key}: ${problem}`;
    this.report(INVARIANT, key, problem);
  }

  report(kind: string, key: string, text: string, t: number = this.scheduler.now): void {
    if (this.plan.ignores?.some((one) => one === kind || one === `${kind} ${key}`)) return;
    const violation = { kind, t, key, text };
    this.violations.push(violation);
    this.#trace?.(() => `!! ${kind} ${key}: ${text}`);
  }

  note(text: () => string): void {
    this.#trace?.(text);
  }

  /** The server has queued an acquisition, or has repeated that reply. */
  #queued(id: string, k: string, ticket: number): void {
    const attempt = this.watch.identities.attempt(id);
    if (attempt === undefined || attempt.over || attempt.ticket === ticket) return;
    if (isFamily(attempt.task)) return;
    // after a wait at a condition, it has another name in the history
    if (attempt.task.primitive === 'consume' && attempt.lease !== undefined) return;
    attempt.ticket = ticket;
    const what = { e: 'queued', k, a: attempt.name, ticket } as const;
    this.history.note(this.scheduler.now, attempt.client.name, what);
  }

  #addMachine(plan: MachinePlan): void {
    this.machines.set(plan.name, machineOf(plan));
    const path = (way: string): Path =>
      new Path(this.scheduler, this.#random.fork(`${plan.name}/${way}`), this.plan.network);
    this.paths.set(plan.name, { up: path('up'), down: path('down') });
  }
}

/** A late message disturbs no process, and a lease may be claimed too late with it. */
function judgeOf(world: World): Judge {
  return {
    scheduler: world.scheduler,
    get time() {
      return world.server.now();
    },
    report: (kind, text) => world.report(kind, '', text),
  };
}

/** The tasks that a process begins in one step. */
function steps(tasks: readonly TaskPlan[]): Iterable<readonly TaskPlan[]> {
  const all = new Map<string, TaskPlan[]>();
  for (const task of tasks) {
    const step = `${task.process} ${task.at}`;
    const others = all.get(step);
    if (others === undefined) all.set(step, [task]);
    else others.push(task);
  }
  return all.values();
}

function machineOf({ name, rate, uptime, wallApart }: MachinePlan): Machine {
  return new Machine(name, rate, uptime, wallApart);
}

/** The limit for the release of a late duplicate's lease. */
const ECHO_MS = 10_000;

/** The longest duration of each step without faults. */
function patience({ network, processes }: Plan): { free: number; over: number } {
  const message = network.latency + network.jitter + (network.spikes > 0 ? network.spike : 0);
  const [one] = processes;
  const { claimWindow = 0, requestTimeout = 0 } = one?.options ?? {};
  const retry = 2 * requestTimeout + 2000 + 4 * message + (network.doubled > 0 ? network.echo : 0);
  return { free: 2 * claimWindow + retry, over: ECHO_MS + retry };
}

/** The settings for the checker's bounds: the longest of those in use. */
function beginning({ seed, processes, tasks, network }: Plan): Happening {
  const longest = (name: 'claimWindow' | 'requestTimeout' | 'localHandOffs'): number =>
    Math.max(...processes.map(({ options }) => options[name]));
  const ttl = Math.max(...tasks.map((task) => task.ttl));
  // a lease that was ensured for longer outlives the crash of its process by as much
  const ensured = tasks.flatMap(({ steps }) => steps.map((step) => ('ms' in step ? step.ms : 0)));
  const lease = Math.max(ttl, ...ensured) * 1.05;
  const slack = 3 * ttl + 1000;
  const { latency, jitter, spikes, spike } = network;
  const message = latency + jitter + (spikes > 0 ? spike : 0);
  return {
    ...{ e: 'begin', seed, ttl, claimWindow: longest('claimWindow') },
    // a lost message never arrives
    delay: network.loose ? 1e9 : message,
    ...{ requestTimeout: longest('requestTimeout'), localHandOffs: longest('localHandOffs') },
    // a holder that computes blocks its whole process
    slack,
    grace: 2 * (lease + longest('requestTimeout')) + longest('claimWindow') + slack,
  };
}
