/**
 * The server: the library's engine on the server's own clock, which may be set; and all its
 * connections.
 *
 *     up --crash--> down --start--> up, with everything, with nothing, or with what a replica had
 *     up --stop--> up, but unresponsive for a while (a slow command, a fork, a full disk)
 *
 * The state of a replica is computed when it is needed: all commands up to that point run again,
 * with the time and the numbers of receivers of the first execution.
 */
import type { Engine } from '../../../../packages/holdfast/dist/engine/engine.js';
import type { Command, Reply } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Library } from '../library.js';
import type { Machine } from '../world/machine.js';
import type { Connection } from './connection.js';

/** The result of a command at the server. */
export type Answer = { readonly reply: Reply } | { readonly error: string };

export interface ServerEvents {
  /** A command is about to be executed. */
  before(command: Command, now: number): void;
  /** A command was executed. */
  after(command: Command, reply: Reply, now: number): void;
}

/** Commands between two removals of idle keys. */
const SWEEP_EVERY = 4096;

/** The part of the time of a command that each further acquisition of a command takes. */
const PART = 0.1;

interface Logged {
  readonly at: number;
  readonly command: Command;
  readonly now: number;
  readonly receivers: number[];
}

export class Server {
  readonly scheduler: Scheduler;
  readonly machine: Machine;
  readonly connections: Set<Connection> = new Set();
  up = true;
  /** Executes no command before this time. */
  busyUntil = 0;
  /** The error that it returns for every command instead of executing it. */
  refuses: string | undefined;
  engine: Engine;
  /** Counts at least one listener on every channel. */
  readonly blind: boolean;
  /** The time that a command takes, in ms. */
  readonly cost: number;
  /** Commands that were executed, and messages that were sent. */
  work = 0;
  readonly #library: Library;
  readonly #random: Random;
  readonly #events: ServerEvents;
  readonly #replicated: boolean;
  #log: Logged[] = [];
  #seen: number[] = [];
  #queue: (() => void)[] = [];
  #commands = 0;

  constructor(
    library: Library,
    scheduler: Scheduler,
    machine: Machine,
    options: {
      random: Random;
      events: ServerEvents;
      replicated: boolean;
      blind: boolean;
      cost: number;
    },
  ) {
    this.scheduler = scheduler;
    this.machine = machine;
    this.#library = library;
    this.#random = options.random;
    this.#events = options.events;
    this.#replicated = options.replicated;
    this.blind = options.blind;
    this.cost = options.cost;
    this.engine = this.#newEngine();
  }

  /** Its time in whole microseconds. */
  now(): number {
    return Math.floor(this.machine.wall(this.scheduler.now) * 1000);
  }

  accept(connection: Connection): boolean {
    if (!this.up) return false;
    this.connections.add(connection);
    connection.serverOpen = true;
    return true;
  }

  drop(connection: Connection): void {
    connection.serverOpen = false;
    connection.channels.clear();
    this.connections.delete(connection);
  }

  /** A message arrives. */
  deliver(receive: () => void): void {
    if (!this.up) return;
    if (this.busyUntil <= this.scheduler.now && this.#queue.length === 0) {
      receive();
      return;
    }
    this.#queue.push(receive);
    if (this.#queue.length === 1) this.scheduler.at(this.busyUntil, () => this.#catchUp());
  }

  execute(command: Command): Answer {
    // a full server still executes releases
    const lets = this.refuses === 'OOM' && command.op !== 'acquire';
    if (this.refuses !== undefined && !lets) return { error: this.refuses };
    const now = this.now();
    this.#commands += 1;
    if (this.#commands % SWEEP_EVERY === 0) this.engine.sweep(now);
    this.#events.before(command, now);
    this.#seen = [];
    const { reply, pushes } = this.engine.apply(command, now);
    if (this.#replicated && command.op !== 'inspect') {
      this.#log.push({ at: this.scheduler.now, command, now, receivers: this.#seen });
    }
    this.#spend(command, pushes.length);
    for (const { channel, push } of pushes) {
      for (const connection of this.listeners(channel)) {
        connection.reply(this.doneAt, () => connection.pushed?.(push));
      }
    }
    this.#events.after(command, reply, now);
    return { reply };
  }

  /** When the command that it executes is done. */
  get doneAt(): number {
    return Math.max(this.scheduler.now, this.busyUntil);
  }

  #spend(command: Command, messages: number): void {
    this.work += 1 + messages;
    if (this.cost === 0) return;
    const more = 'ids' in command ? command.ids.length * PART : 0;
    this.busyUntil = this.doneAt + this.cost * (1 + more);
  }

  /** A foreign client deletes a key. */
  forget(key: string): void {
    const resource = this.engine.resource(key);
    if (!this.up || resource === undefined) return;
    resource.forgetAt = 0;
    this.engine.sweep(0);
  }

  /** The connections that listen on a channel. */
  *listeners(channel: string): Iterable<Connection> {
    for (const connection of this.connections) {
      if (connection.channels.has(channel)) yield connection;
    }
  }

  listens(channel: string): boolean {
    return !this.listeners(channel)[Symbol.iterator]().next().done;
  }

  /** Executes nothing for a while. */
  stop(ms: number): void {
    this.busyUntil = Math.max(this.busyUntil, this.scheduler.now + ms);
  }

  /** Crashes; the connected clients learn of it within `tells` ms. */
  crash(tells: number): void {
    this.up = false;
    this.#queue = [];
    this.busyUntil = 0;
    for (const connection of [...this.connections]) {
      connection.reset(this.#random.next() * tells, 0, 0);
    }
  }

  /** Starts with all its data, with none, or with the data of a replica. */
  start(memory: 'keeps' | 'loses' | 'replica', lag: number): void {
    if (memory !== 'keeps') {
      const until = memory === 'replica' ? this.scheduler.now - lag : 0;
      this.#log = this.#log.filter(({ at }) => at <= until);
      this.engine = this.#replayed();
    }
    this.up = true;
  }

  #catchUp(): void {
    if (this.busyUntil > this.scheduler.now) {
      this.scheduler.at(this.busyUntil, () => this.#catchUp());
      return;
    }
    const receive = this.#queue.shift();
    receive?.();
    if (this.#queue.length > 0) this.scheduler.at(this.scheduler.now, () => this.#catchUp());
  }

  #newEngine(): Engine {
    return new this.#library.Engine((channel) => this.#count(channel));
  }

  /** An engine that has executed all logged commands. */
  #replayed(): Engine {
    let told: number[] | undefined = [];
    const engine = new this.#library.Engine((channel) =>
      told === undefined ? this.#count(channel) : (told.shift() ?? 1),
    );
    for (const { command, now, receivers } of this.#log) {
      told = [...receivers];
      engine.apply(command, now);
    }
    told = undefined;
    return engine;
  }

  #count(channel: string): number {
    let count = 0;
    for (const _ of this.listeners(channel)) count += 1;
    if (this.blind) count = Math.max(count, 1);
    this.#seen.push(count);
    return count;
  }
}
