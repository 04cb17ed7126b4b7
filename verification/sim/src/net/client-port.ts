/**
 * The Redis client that a simulated process gives to the Redis store: one connection for commands,
 * and one for pushes while acquisitions wait. It treats a lost connection as real clients do:
 *
 * - `resends`: unanswered calls are sent again, unchanged, on the next connection;
 * - `rejects`: unanswered calls fail, though the server may have executed them;
 * - `forgets`: unanswered calls never settle.
 *
 * A client that is out of step (`confuse`) gives each reply to the command before it, until its
 * connection ends, as node-redis 5.12.1 does.
 *
 * If `repeats` is set, a call without a reply for `repeats` ms is sent once more on the same
 * connection. Without a connection, calls wait for the next one, or fail at once (`queues`).
 */
import type {
  ClientPort,
  ScanPage,
  ScriptCall,
  Subscription as Subscribed,
  SubscriptionListener,
} from '../../../../packages/holdfast/dist/store/clients/port.js';
import type { Command } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Random } from '../base/random.js';
import type { Library } from '../library.js';
import type { Process } from '../world/process.js';
import { keysOf } from './commands.js';
import { Connection } from './connection.js';
import type { Path } from './path.js';
import { type Decoded, decoded, execute, type Outcome } from './scripts.js';
import type { Server } from './server.js';
import { Subscription } from './subscription.js';

/** How a client treats unanswered commands. */
export interface Habits {
  readonly onLoss: 'resends' | 'rejects' | 'forgets';
  readonly queues: boolean;
  readonly repeats?: number;
}

export interface PortParts {
  readonly library: Library;
  readonly process: Process;
  readonly server: Server;
  readonly paths: { readonly up: Path; readonly down: Path };
  readonly random: Random;
  readonly habits: Habits;
  /** The time limit of a request, in ms. */
  readonly limit: number;
  readonly trace: ((text: () => string) => void) | undefined;
}

interface Pending {
  readonly number: number;
  readonly call: Decoded;
  readonly resolve: (raw: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly at: number;
  sent: boolean;
}

/** An error reply of the server. */
class ErrorReply extends Error {}

/** The reply to each call of the test for one server. Its calls take no time in the simulation. */
const seen = (args: readonly string[]): Promise<string> => Promise.resolve(`${args.at(-1)} 1`);

/** The number of no call. */
const NO_CALL = 0;

const BACKOFF_MS_MIN = 20;
const BACKOFF_MS_MAX = 2000;

export class SimulatedClient {
  /** What the store uses of it. */
  readonly port: ClientPort = {
    ...{ name: 'sim', client: {}, keyPrefix: '', writesLater: false },
    evalsha: (calls) => calls.map((call) => this.#call(call)),
    eval: (source, keys, args) => this.#probe(source, keys, args),
    scan: (_cursor, _match, _count, proof) => this.#scan(proof),
    subscribe: (channel, listener) => this.#subscribe(channel, listener),
    // only a client that sends again may have executed a call twice
    connection: () => (this.#sendsAgain ? this.#connections + this.#repeated : this),
    isReply: (error) => error instanceof ErrorReply,
    state: () => undefined,
  };
  readonly subscriptions: Set<Subscription> = new Set();
  readonly #parts: PortParts;
  readonly #pending = new Map<number, Pending>();
  #connection: Connection | undefined;
  #connections = 0;
  #numbers = 0;
  /** The calls on this connection that await a reply, in the order in which they were sent. */
  #order: number[] = [];
  #outOfStep = false;
  /** Calls that were sent once more on the same connection. */
  #repeated = 0;
  #attempt = 0;
  /** The requests that verify leases, or that poll. */
  questions = 0;
  /** The time of the last reply for a key. */
  readonly #answeredAt = new Map<string, number>();
  #slowAt = Number.NEGATIVE_INFINITY;

  constructor(parts: PortParts) {
    this.#parts = parts;
    this.#connect();
  }

  /** The connection for commands. */
  get commands(): Connection | undefined {
    return this.#connection;
  }

  /** All connections of the process. */
  get connections(): Connection[] {
    const own = this.#connection === undefined ? [] : [this.#connection];
    return [...own, ...[...this.subscriptions].flatMap((one) => one.connection ?? [])];
  }

  /** The time of the server's last reply for a key; an error is not a reply. */
  answeredAt(key: string): number {
    return this.#answeredAt.get(key) ?? Number.NEGATIVE_INFINITY;
  }

  /** The last time at which a call had no reply within the limit of a request. */
  get slowAt(): number {
    const isSlow = [...this.#pending.values()].some((pending) => this.#isSlow(pending));
    return isSlow ? this.#parts.process.time : this.#slowAt;
  }

  #isSlow({ at }: Pending): boolean {
    return this.#parts.process.time - at >= this.#parts.limit;
  }

  get #sendsAgain(): boolean {
    const { onLoss, repeats } = this.#parts.habits;
    return onLoss === 'resends' || repeats !== undefined;
  }

  #call(call: ScriptCall): Promise<unknown> {
    const { library } = this.#parts;
    return call.sha === library.ONE_SERVER.sha
      ? seen(call.args)
      : this.#ask(decoded(library, call));
  }

  /** The simulated server knows all scripts, so only probes have a text. */
  #probe(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (Object.values(this.#parts.library.ONE_SERVER).includes(source)) return seen(args);
    if (source !== 'return ARGV[1]') throw new Error(`not a probe: ${source}`);
    const call = { sha: '', keys, args };
    return this.#ask({ script: 'probe', call, commands: [], proof: args[0] as string });
  }

  #scan(answer: string | undefined): Promise<ScanPage> {
    const keys = [...this.#parts.server.engine.keys()].map((key) => `{${key}}`);
    return Promise.resolve({ cursor: '0', keys, answer });
  }

  async #subscribe(channel: string, listener: SubscriptionListener): Promise<Subscribed> {
    const subscription = new Subscription(this.#parts, channel, listener);
    this.subscriptions.add(subscription);
    const close = (): Promise<void> => {
      this.subscriptions.delete(subscription);
      subscription.close();
      return Promise.resolve();
    };
    try {
      await subscription.opened;
    } catch (error) {
      this.subscriptions.delete(subscription);
      throw error;
    }
    return { close };
  }

  /** The process has died: its connections end. */
  abandon(tellsServerAt: number): void {
    for (const connection of this.connections) connection.abandon(tellsServerAt);
  }

  /** From now on, until the connection ends, each reply goes to another call. */
  confuse(): void {
    if (this.#connection === undefined || this.#outOfStep) return;
    this.#outOfStep = true;
    // it takes the first reply
    this.#order.unshift(NO_CALL);
  }

  /** Ends all connections, as a program does before it exits. */
  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #ask(call: Decoded): Promise<unknown> {
    if (call.commands.some(asks)) this.questions += 1;
    return new Promise((resolve, reject) => {
      this.#numbers += 1;
      const { time: at } = this.#parts.process;
      const pending = { number: this.#numbers, call, resolve, reject, at, sent: false };
      const open = this.#connection?.clientOpen === true;
      if (!open && !this.#parts.habits.queues) {
        reject(new Error('not connected'));
        return;
      }
      this.#pending.set(pending.number, pending);
      if (open) this.#send(pending);
    });
  }

  #send(pending: Pending): void {
    const connection = this.#connection as Connection;
    const { server, process, habits } = this.#parts;
    const { call } = pending;
    pending.sent = true;
    // The sender of a second acquisition notices the late reply: no network does that. And a copy
    // of a forced release has no id, so it ends a lease that was granted in between.
    const once = call.commands.some(({ op }) => op === 'acquire' || op === 'forceRelease');
    const send = (): void => {
      this.#order.push(pending.number);
      this.#parts.trace?.(() => `${process.name} -> ${show(call)}`);
      connection.send(() => {
        const outcome = execute(server, call);
        this.#parts.trace?.(() => `  ${shortly(call)} = ${showOutcome(outcome)}`);
        connection.reply(server.doneAt, () => this.#answered(pending.number, outcome));
      }, once);
    };
    send();
    if (habits.repeats === undefined || call.script === 'forceRelease') return;
    process.later(habits.repeats, () => {
      if (!this.#pending.has(pending.number) || !connection.clientOpen) return;
      this.#repeated += 1;
      send();
    });
  }

  #answered(asked: number, outcome: Outcome): void {
    const place = this.#outOfStep ? 0 : this.#order.indexOf(asked);
    // a reply that arrives twice
    if (place < 0) return;
    const [number = NO_CALL] = this.#order.splice(place, 1);
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    this.#pending.delete(number);
    const { process, trace } = this.#parts;
    if (this.#isSlow(pending)) this.#slowAt = process.time;
    trace?.(() => `${process.name} <- ${shortly(pending.call)}: ${showOutcome(outcome)}`);
    if ('raw' in outcome) {
      const keys = this.#outOfStep ? [] : pending.call.commands.flatMap(keysOf);
      for (const key of keys) this.#answeredAt.set(key, process.time);
      pending.resolve(outcome.raw);
    } else {
      pending.reject(new ErrorReply(outcome.error));
    }
  }

  #connect(): void {
    this.#connections += 1;
    const { process, server, paths } = this.#parts;
    const name = `${process.name}/c${this.#connections}`;
    this.#connection = new Connection(name, process, server, paths, {
      opened: () => this.#opened(),
      ended: () => this.#ended(),
    });
  }

  #opened(): void {
    this.#attempt = 0;
    this.#parts.process.connectedSince = this.#parts.process.time;
    this.#parts.trace?.(() => `${this.#parts.process.name} connected`);
    for (const pending of [...this.#pending.values()]) this.#send(pending);
  }

  #ended(): void {
    const { process, random, habits, trace } = this.#parts;
    trace?.(() => `${process.name} lost its connection`);
    this.#connection = undefined;
    this.#outOfStep = false;
    this.#order = [];
    for (const pending of [...this.#pending.values()]) {
      if (!pending.sent || habits.onLoss === 'resends') continue;
      this.#pending.delete(pending.number);
      if (habits.onLoss === 'rejects') pending.reject(new Error('connection lost'));
    }
    const delay = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** this.#attempt);
    this.#attempt += 1;
    process.connectedSince = Number.POSITIVE_INFINITY;
    process.later(delay * random.between(0.5, 1), () => this.#connect());
  }
}

/** True for a command that only reads what an acquisition has. */
function asks(command: Command): boolean {
  return command.op === 'poll' || (command.op === 'renewMany' && command.ttl === 0);
}

function show({ script, commands }: Decoded): string {
  return `${script} ${commands.map(words).join('; ')}`;
}

function words(command: Command): string {
  const { op: _, ...rest } = command as Command & Record<string, unknown>;
  const { id, fence, used, again, ids, channel, queue, ticket, waited, tasks, ttl } = rest;
  const root = { fence, used, again, waited, tasks };
  const parts = Object.entries({ id, ...root, ids, channel, queue, ticket, ttl });
  const shown = parts.filter(([, value]) => value !== undefined && value !== '' && value !== 0);
  const texts = shown.map(([name, value]) => `${name}=${String(value)}`).join(' ');
  return `${keysOf(command).join()} ${texts}`;
}

function shortly({ script, commands }: Decoded): string {
  const who = (command: Command): string =>
    'id' in command ? command.id : 'ids' in command ? command.ids.join() : '';
  const parts = commands.map((command) => `${keysOf(command).join()} ${who(command)}`);
  return `${script} ${parts.join('; ')}`;
}

function showOutcome(outcome: Outcome): string {
  const text = JSON.stringify('raw' in outcome ? outcome.raw : outcome);
  // the number of this process, and the proof of a reply, which begins at random
  return text.replace(/pid\\":\d+/g, 'pid').replace(/^\["[0-9a-z]+",/, '[');
}
