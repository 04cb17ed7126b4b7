/**
 * The connection on which one process receives pushes.
 *
 *     opening --confirmed--> up <--> down        (it opens itself again until it is closed)
 *        \--refused--> failed
 */
import type { ClientPort } from '../../../../packages/holdfast/dist/store/clients/port.js';
import type { Push } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { PortParts } from './client-port.js';
import { Connection } from './connection.js';

type SubscriptionListener = Parameters<ClientPort['subscribe']>[1];

const BACKOFF_MS_MIN = 20;
const BACKOFF_MS_MAX = 2000;

export class Subscription {
  /** Settles with the first confirmation, or the first failure. */
  readonly opened: Promise<void>;
  connection: Connection | undefined;
  readonly #parts: PortParts;
  readonly #name: string;
  readonly #listener: SubscriptionListener;
  #confirm: (() => void) | undefined;
  #fail: ((error: Error) => void) | undefined;
  #attempt = 0;
  #count = 0;
  #closed = false;

  constructor(parts: PortParts, name: string, listener: SubscriptionListener) {
    this.#parts = parts;
    this.#name = name;
    this.#listener = listener;
    this.opened = new Promise((resolve, reject) => {
      this.#confirm = resolve;
      this.#fail = reject;
    });
    this.#connect();
  }

  /** False until the server has confirmed it: a connection that is opening closes once open. */
  get isOpen(): boolean {
    return this.#confirm === undefined;
  }

  close(): void {
    this.#closed = true;
    this.connection?.close();
  }

  #hear(push: Push): void {
    if (this.#closed) return;
    const { process, trace, library } = this.#parts;
    trace?.(() => `${process.name} <~ ${JSON.stringify(push)}`);
    this.#listener.message(library.encodePush(push));
  }

  #connect(): void {
    if (this.#closed) return;
    this.#count += 1;
    const { process, server, paths } = this.#parts;
    const name = `${process.name}/s${this.#count}`;
    const connection = new Connection(name, process, server, paths, {
      opened: () => connection.subscribe(this.#name, () => this.#confirmed()),
      ended: () => this.#ended(),
    });
    connection.pushed = (push) => this.#hear(push);
    this.connection = connection;
  }

  #confirmed(): void {
    if (this.#closed) return;
    this.#attempt = 0;
    this.#parts.trace?.(() => `${this.#parts.process.name} listens`);
    if (this.#confirm === undefined) return this.#listener.up();
    this.#confirm();
    this.#confirm = undefined;
  }

  #ended(): void {
    this.connection = undefined;
    if (this.#closed) return;
    const { process, random, trace } = this.#parts;
    trace?.(() => `${process.name} listens no more`);
    if (this.#confirm !== undefined) {
      this.#closed = true;
      this.#fail?.(new Error('could not subscribe'));
      return;
    }
    if (this.#attempt === 0) this.#listener.down();
    const delay = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** this.#attempt);
    this.#attempt += 1;
    process.later(delay * random.between(0.5, 1), () => this.#connect());
  }
}
