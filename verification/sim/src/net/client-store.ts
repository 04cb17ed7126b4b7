/**
 * The store that a simulated process gives to its `Holdfast`: one connection for commands, and one
 * for pushes while acquisitions wait. It treats a lost connection as real clients do:
 *
 * - `resends`: unanswered commands are sent again, unchanged, on the next connection;
 * - `rejects`: unanswered commands fail, though the server may have executed them;
 * - `forgets`: unanswered commands never settle.
 *
 * If `repeats` is set, a command without a reply for `repeats` ms is sent once more on the same
 * connection. Without a connection, commands wait for the next one, or fail at once (`queues`).
 */
import type { Command, Reply } from '../../../../packages/holdfast/dist/engine/commands.js';
import type {
  Store,
  WakeChannel,
  WakeListener,
} from '../../../../packages/holdfast/dist/store/port.js';
import type { Random } from '../base/random.js';
import type { Library } from '../library.js';
import type { Process } from '../world/process.js';
import { keysOf } from './commands.js';
import { Connection } from './connection.js';
import type { Path } from './path.js';
import type { Answer, Server } from './server.js';
import { Subscription } from './subscription.js';

/** How a client treats unanswered commands. */
export interface Habits {
  readonly onLoss: 'resends' | 'rejects' | 'forgets';
  readonly queues: boolean;
  readonly repeats?: number;
}

export interface StoreParts {
  readonly library: Library;
  readonly process: Process;
  readonly server: Server;
  readonly paths: { readonly up: Path; readonly down: Path };
  readonly random: Random;
  readonly habits: Habits;
  readonly trace: ((text: () => string) => void) | undefined;
}

interface Pending {
  readonly number: number;
  readonly command: Command;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  sent: boolean;
}

const BACKOFF_MS_MIN = 20;
const BACKOFF_MS_MAX = 2000;

export class ClientStore implements Store {
  readonly label = 'sim';
  readonly subscriptions: Set<Subscription> = new Set();
  readonly #parts: StoreParts;
  readonly #pending = new Map<number, Pending>();
  #connection: Connection | undefined;
  #connections = 0;
  #numbers = 0;
  #attempt = 0;
  /** The time of the last reply for a key. */
  readonly #answeredAt = new Map<string, number>();

  constructor(parts: StoreParts) {
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

  execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => this.#ask(command));
  }

  async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    const subscription = new Subscription(this.#parts, name, listener);
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
      throw this.#failure(String(error));
    }
    return { name, close };
  }

  async *keys(): AsyncIterable<string> {
    yield* this.#parts.server.engine.keys();
  }

  /** The process has died: its connections end. */
  abandon(tellsServerAt: number): void {
    for (const connection of this.connections) connection.abandon(tellsServerAt);
  }

  /** Ends all connections, as a program does before it exits. */
  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #ask(command: Command): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#numbers += 1;
      const pending = { number: this.#numbers, command, resolve, reject, sent: false };
      const open = this.#connection?.clientOpen === true;
      if (!open && !this.#parts.habits.queues) {
        reject(this.#failure('not connected'));
        return;
      }
      this.#pending.set(pending.number, pending);
      if (open) this.#send(pending);
    });
  }

  #send(pending: Pending): void {
    const connection = this.#connection as Connection;
    const { server, process, habits } = this.#parts;
    pending.sent = true;
    const { op } = pending.command;
    const send = (): void => {
      this.#parts.trace?.(() => `${process.name} -> ${show(pending.command)}`);
      // The sender of a second acquisition notices the late reply: no network does that. And a
      // copy of a forced release has no id, so it ends a lease that was granted in between.
      connection.send(
        () => {
          const answer = server.execute(pending.command);
          this.#parts.trace?.(() => `  ${shortly(pending.command)} = ${showAnswer(answer)}`);
          connection.reply(server.scheduler.now, () => this.#answered(pending.number, answer));
        },
        op === 'acquire' || op === 'forceRelease',
      );
    };
    send();
    if (habits.repeats === undefined || op === 'forceRelease') return;
    process.later(habits.repeats, () => {
      if (this.#pending.has(pending.number) && connection.clientOpen) send();
    });
  }

  #answered(number: number, answer: Answer): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    this.#pending.delete(number);
    const { process, trace } = this.#parts;
    trace?.(() => `${process.name} <- ${shortly(pending.command)}: ${statusOf(answer)}`);
    if ('reply' in answer) {
      for (const key of keysOf(pending.command)) this.#answeredAt.set(key, process.time);
      pending.resolve(answer.reply);
    } else {
      // only a full server keeps refusing
      const kind = answer.error === 'OOM' ? 'refused' : 'transient';
      pending.reject(new this.#parts.library.StoreFailure(answer.error, kind, undefined));
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
    for (const pending of [...this.#pending.values()]) {
      if (!pending.sent || habits.onLoss === 'resends') continue;
      this.#pending.delete(pending.number);
      if (habits.onLoss === 'rejects') pending.reject(this.#failure('connection lost'));
    }
    const delay = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** this.#attempt);
    this.#attempt += 1;
    process.connectedSince = Number.POSITIVE_INFINITY;
    process.later(delay * random.between(0.5, 1), () => this.#connect());
  }

  #failure(message: string): Error {
    return new this.#parts.library.StoreFailure(message, 'unanswered', undefined);
  }
}

function show(command: Command): string {
  const { op, ...rest } = command as Command & Record<string, unknown>;
  const { id, fence, used, again, ids, channel, queue, ticket, waited, tasks, ttl } = rest;
  const root = { fence, used, again, waited, tasks };
  const parts = Object.entries({ id, ...root, ids, channel, queue, ticket, ttl });
  const shown = parts.filter(([, value]) => value !== undefined && value !== '' && value !== 0);
  const words = shown.map(([name, value]) => `${name}=${String(value)}`).join(' ');
  return `${op} ${keysOf(command).join()} ${words}`;
}

function shortly(command: Command): string {
  const who = 'id' in command ? command.id : 'ids' in command ? command.ids.join() : '';
  return `${command.op} ${keysOf(command).join()} ${who}`;
}

function statusOf(answer: Answer): string {
  return 'reply' in answer ? answer.reply.status : answer.error;
}

function showAnswer(answer: Answer): string {
  // the text contains the number of this process
  return JSON.stringify('reply' in answer ? answer.reply : answer).replace(/pid\\":\d+/g, 'pid');
}
