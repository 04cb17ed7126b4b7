/**
 * One client's connection through the proxy: two sockets, the held requests and the delayed
 * replies. A fault always affects complete frames, so a stream is never damaged inside a frame.
 */
import { connect, type Socket } from 'node:net';
import { Pairing, type Received } from './pairing.js';
import type { Fate } from './proxy-rules.js';
import { decodeCommand, FrameSplitter } from './resp.js';

/** The decisions of the proxy; a link asks for each frame. */
export interface Policy {
  /** The server of a new connection. */
  target(): { host: string; port: number };
  /** Whether bytes to the server (`requests`) or from it (`replies`) are dropped. */
  readonly lost: { requests: boolean; replies: boolean };
  seen(link: number, command: string[]): void;
  holds(command: string[]): boolean;
  fate(command: string[]): Fate | undefined;
  /** The delay in ms after which the command is sent a second time. */
  copies(command: string[]): number | undefined;
  dropsPush(message: string[]): boolean;
  closed(link: Link): void;
  problem(error: Error): void;
}

/** Above this number of buffered bytes, the proxy stops reading from the sender. */
const BUFFER_LIMIT = 1024 * 1024;

/** A client's connection, with its commands and replies. */
export class Link {
  readonly id: number;
  readonly #policy: Policy;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests = new FrameSplitter('requests');
  readonly #replies = new FrameSplitter('replies');
  readonly #pairing = new Pairing<Fate | 'none' | 'copy'>();
  #held: Buffer[] = [];
  #heldBytes = 0;
  #late: { frame: Buffer; due: number }[] = [];
  #lateBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Replies are dropped, although the connection is open. */
  #silent = false;
  /**
   * Bytes were lost, so later replies would be matched to the wrong commands. `heal` closes such a
   * connection.
   */
  damaged = false;
  #ended = { client: false, server: false };
  #dead = false;

  constructor(id: number, client: Socket, policy: Policy) {
    this.id = id;
    this.#policy = policy;
    this.#client = client;
    const { host, port } = policy.target();
    this.#server = connect({ host, port, noDelay: true });
    client.setNoDelay(true);
    client.on('data', (chunk) => this.#guarded(() => this.#fromClient(chunk)));
    this.#server.on('data', (chunk) => this.#guarded(() => this.#fromServer(chunk)));
    // `close` follows an error and reports it
    client.on('error', () => undefined);
    this.#server.on('error', () => undefined);
    client.on('close', () => this.#clientClosed());
    this.#server.on('close', (failed) => this.#serverClosed(failed));
    client.on('drain', () => this.#regulate());
    this.#server.on('drain', () => this.#regulate());
  }

  get held(): number {
    return this.#held.length;
  }

  /** Whether the client's side is open. */
  get open(): boolean {
    return !this.#ended.client;
  }

  /**
   * Closes both sides immediately.
   * @param reset with a reset instead of an orderly end of the client's connection
   */
  cut(reset = false): void {
    clearTimeout(this.#timer);
    this.#held = [];
    this.#late = [];
    if (reset) this.#client.resetAndDestroy();
    else this.#client.destroy();
    this.#server.destroy();
    this.#policy.closed(this);
  }

  /** Drops all bytes from now on; both sides stay open. */
  die(): void {
    this.#dead = true;
    this.damaged = true;
  }

  /** Forwards the held commands in order, even if the client has disconnected. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const frame of held) this.#forward(frame, decodeCommand(frame));
    if (this.#ended.client) this.#clientClosed();
    this.#regulate();
  }

  /** Ends all faults on this link. */
  heal(): void {
    const ended = this.#ended.client || this.#ended.server;
    if (this.damaged || (ended && this.#held.length === 0)) this.cut();
    else this.release();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#policy.problem(error as Error);
      this.cut();
    }
  }

  #fromClient(chunk: Buffer): void {
    if (this.#dead) return;
    for (const frame of this.#requests.push(chunk)) {
      const command = decodeCommand(frame);
      this.#policy.seen(this.id, command);
      if (this.#held.length > 0 || this.#policy.holds(command)) {
        this.#held.push(frame);
        this.#heldBytes += frame.length;
      } else {
        this.#forward(frame, command);
      }
    }
    this.#regulate();
  }

  #forward(frame: Buffer, command: string[]): void {
    if (this.#policy.lost.requests) {
      this.damaged = true;
      return;
    }
    this.#pairing.sent(command);
    if (!this.#server.destroyed) this.#server.write(frame);
    const ms = this.#policy.copies(command);
    if (ms !== undefined) setTimeout(() => this.#sendCopy(frame, command), ms);
  }

  #sendCopy(frame: Buffer, command: string[]): void {
    if (this.#server.destroyed || this.#policy.lost.requests) return;
    this.#pairing.sent(command, 'copy');
    this.#server.write(frame);
  }

  #fromServer(chunk: Buffer): void {
    if (this.#dead) return;
    for (const frame of this.#replies.push(chunk)) {
      const received = this.#pairing.received(frame);
      if (this.#silent || this.#policy.lost.replies) this.damaged = true;
      else if (!this.#deliver(frame, received)) return;
    }
    this.#regulate();
  }

  // false if this closed the connection
  #deliver(frame: Buffer, received: Received<Fate | 'none' | 'copy'>): boolean {
    if (received.kind === 'push') {
      if (!this.#policy.dropsPush(received.message)) this.#send(frame, 0);
      return true;
    }
    const { sent } = received;
    // decided once per command: SUBSCRIBE has several reply frames
    sent.fate ??= this.#policy.fate(sent.command) ?? 'none';
    if (sent.fate === 'copy') return true;
    if (sent.fate === 'none') {
      this.#send(frame, 0);
    } else if ('delay' in sent.fate) {
      this.#send(frame, sent.fate.delay);
    } else if (sent.fate.after === 'cut') {
      this.cut();
      return false;
    } else if (sent.fate.after === 'silence') {
      this.#silent = true;
      this.damaged = true;
    }
    return true;
  }

  #send(frame: Buffer, delay: number): void {
    if (delay === 0 && this.#late.length === 0) {
      if (!this.#client.destroyed) this.#client.write(frame);
      return;
    }
    this.#late.push({ frame, due: performance.now() + delay });
    this.#lateBytes += frame.length;
    if (this.#late.length === 1) this.#wait();
  }

  // later frames wait behind a delayed one: a stream keeps its order
  #wait(): void {
    for (let next = this.#late[0]; next !== undefined; next = this.#late[0]) {
      const ms = next.due - performance.now();
      if (ms > 0) {
        // rounded up: a timer may fire a fraction of a millisecond early
        this.#timer = setTimeout(() => this.#wait(), Math.ceil(ms));
        return;
      }
      this.#late.shift();
      this.#lateBytes -= next.frame.length;
      if (this.#policy.lost.replies || this.#silent) this.damaged = true;
      else if (!this.#client.destroyed) this.#client.write(next.frame);
    }
    if (this.#ended.server) this.#serverClosed(false);
    this.#regulate();
  }

  // back-pressure: reads from one side only while the other side accepts the data
  #regulate(): void {
    const full = (bytes: number, to: Socket): boolean =>
      bytes > BUFFER_LIMIT || to.writableNeedDrain;
    if (full(this.#heldBytes, this.#server)) this.#client.pause();
    else this.#client.resume();
    if (full(this.#lateBytes, this.#client)) this.#server.pause();
    else this.#server.resume();
  }

  #clientClosed(): void {
    this.#ended.client = true;
    // a black hole also drops the end of the stream: the server still considers this client
    // connected
    if (this.#policy.lost.requests || this.#held.length > 0) return;
    this.#server.end();
    this.#server.resume();
    if (this.#server.destroyed) this.#policy.closed(this);
  }

  #serverClosed(failed: boolean): void {
    this.#ended.server = true;
    if (this.#policy.lost.replies || this.#silent) return;
    if (failed) this.cut();
    else if (this.#late.length === 0) {
      this.#client.end();
      if (this.#client.destroyed) this.#policy.closed(this);
    }
  }
}
