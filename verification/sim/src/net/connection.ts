/**
 * A connection from a process to the server.
 *
 *     opening --accepted--> open --reset, close, crash of either side--> closed (per side)
 *        \--refused, no answer--> closed
 *
 * Each side learns of the end at its own time. One side may learn of it much later: a machine that
 * loses power sends no message.
 */
import type { Push } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Process } from '../world/process.js';
import { Lane } from './lane.js';
import type { Path } from './path.js';
import type { Server } from './server.js';

/** How long a client waits for a connection to be accepted. */
const CONNECT_MS = 3000;

/** Callbacks of a client for its connection. */
export interface ConnectionEvents {
  opened(): void;
  /** The connection has ended, or was never opened. */
  ended(): void;
}

export class Connection {
  readonly name: string;
  readonly process: Process;
  /** Channels whose pushes the server sends on this connection. */
  readonly channels: Set<string> = new Set();
  /** Called for each push that arrives. */
  pushed: ((push: Push) => void) | undefined;
  clientOpen = false;
  serverOpen = false;
  /** True: all further replies and pushes are lost. */
  muted = false;
  readonly #up: Lane;
  readonly #down: Lane;
  readonly #server: Server;
  readonly #events: ConnectionEvents;
  #ended = false;

  constructor(
    name: string,
    process: Process,
    server: Server,
    paths: { readonly up: Path; readonly down: Path },
    events: ConnectionEvents,
  ) {
    this.name = name;
    this.process = process;
    this.#server = server;
    this.#events = events;
    this.#up = new Lane(paths.up);
    this.#down = new Lane(paths.down);
    this.#connect();
  }

  /** From the process to the server. */
  send(receive: () => void, once: boolean): void {
    if (!this.clientOpen) return;
    this.#up.send(this.process.time, () => this.#server.deliver(receive), once);
  }

  /** Subscribes to a channel; the server confirms. */
  subscribe(channel: string, confirmed: () => void): void {
    this.#up.sendSurely(this.process.time, () => {
      this.#server.deliver(() => {
        if (!this.serverOpen) return;
        this.channels.add(channel);
        this.#down.sendSurely(this.#server.scheduler.now, () => {
          this.process.deliver('message', () => {
            if (this.clientOpen) confirmed();
          });
        });
      });
    });
  }

  /** From the server to the process. */
  reply(time: number, receive: () => void): void {
    if (!this.serverOpen || this.muted) return;
    const arrive = (): void => {
      this.process.deliver('message', () => {
        if (this.clientOpen) receive();
      });
    };
    this.#down.send(time, arrive, false);
  }

  /** The client closes it: the server learns of this soon. */
  close(): void {
    if (this.#ended) return;
    this.#up.sendSurely(this.process.time, () => this.#server.drop(this));
    this.clientOpen = false;
    this.#ended = true;
  }

  /** Its process has died. The machine may or may not tell the server. */
  abandon(tellsServerAt: number): void {
    this.clientOpen = false;
    this.#ended = true;
    this.#server.scheduler.at(tellsServerAt, () => this.#server.drop(this));
  }

  /**
   * The network or the server ends it: both sides learn of it, and messages in flight are lost.
   * @param lingers by how many ms requests in flight may still arrive late
   */
  reset(clientLearnsAfter: number, serverLearnsAfter: number, lingers: number): void {
    this.#up.close(lingers);
    this.#down.close(0);
    const { scheduler } = this.#server;
    scheduler.after(serverLearnsAfter, () => this.#server.drop(this));
    scheduler.after(clientLearnsAfter, () => this.process.deliver('message', () => this.#end()));
  }

  #connect(): void {
    const { process } = this;
    const { scheduler } = this.#server;
    const limit = process.later(CONNECT_MS, () => this.#end());
    const answer = (accepted: boolean): void => {
      limit.cancel();
      if (this.#ended) return;
      if (!accepted) return this.#end();
      this.clientOpen = true;
      this.#events.opened();
    };
    this.#up.sendSurely(process.time, () => {
      if (this.#ended) return;
      const accepted = this.#server.accept(this);
      this.#down.sendSurely(scheduler.now, () =>
        process.deliver('message', () => answer(accepted)),
      );
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.clientOpen = false;
    this.#events.ended();
  }
}
