/**
 * One client's connection through the proxy: two sockets, what is held on the way there, what is
 * late on the way back. Everything that a fault does is done to whole frames, so that a stream is
 * never torn inside one by accident.
 */
import { connect, type Socket } from 'node:net';
import { Pairing, type Received } from './pairing.js';
import type { Fate } from './proxy-rules.js';
import { decodeCommand, FrameSplitter } from './resp.js';

/** What the proxy decides; a link asks for every frame. */
export interface Policy {
  /** Where a new connection leads to. */
  target(): { host: string; port: number };
  /** Bytes towards the server, or back from it, vanish. */
  readonly lost: { requests: boolean; replies: boolean };
  seen(link: number, command: string[]): void;
  holds(command: string[]): boolean;
  fate(command: string[]): Fate | undefined;
  /** After how many ms a command is sent once more. */
  copies(command: string[]): number | undefined;
  dropsPush(message: string[]): boolean;
  closed(link: Link): void;
  problem(error: Error): void;
}

/** More than this on the way, and the sender has to wait. */
const ROOM = 1024 * 1024;

/** A client's connection, its commands and its replies. */
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
  /** Replies no longer come through, though the connection is open. */
  #silent = false;
  /**
   * Something was lost: what follows would be taken for it, so after a heal this connection has to
   * go.
   */
  #damaged = false;
  #over = { client: false, server: false };

  constructor(id: number, client: Socket, policy: Policy) {
    this.id = id;
    this.#policy = policy;
    this.#client = client;
    const { host, port } = policy.target();
    this.#server = connect({ host, port, noDelay: true });
    client.setNoDelay(true);
    client.on('data', (chunk) => this.#guarded(() => this.#fromClient(chunk)));
    this.#server.on('data', (chunk) => this.#guarded(() => this.#fromServer(chunk)));
    // an error is followed by `close`, which says whether there was one
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
    return !this.#over.client;
  }

  /** Ends both sides at once. */
  cut(): void {
    clearTimeout(this.#timer);
    this.#held = [];
    this.#late = [];
    this.#client.destroy();
    this.#server.destroy();
    this.#policy.closed(this);
  }

  /** Lets go what was held, in order, even if its sender is gone: it was on its way. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const frame of held) this.#forward(frame, decodeCommand(frame));
    if (this.#over.client) this.#clientClosed();
    this.#regulate();
  }

  /** The network is whole again. */
  heal(): void {
    const over = this.#over.client || this.#over.server;
    if (this.#damaged || (over && this.#held.length === 0)) this.cut();
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
      this.#damaged = true;
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
    for (const frame of this.#replies.push(chunk)) {
      const received = this.#pairing.received(frame);
      if (this.#silent || this.#policy.lost.replies) this.#damaged = true;
      else if (!this.#deliver(frame, received)) return;
    }
    this.#regulate();
  }

  // false when that was the end of the connection
  #deliver(frame: Buffer, received: Received<Fate | 'none' | 'copy'>): boolean {
    if (received.kind === 'push') {
      if (!this.#policy.dropsPush(received.message)) this.#send(frame, 0);
      return true;
    }
    const { sent } = received;
    // asked once a command: that of SUBSCRIBE comes in several frames
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
      this.#damaged = true;
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

  // what is behind a late frame waits with it: a stream keeps its order
  #wait(): void {
    for (let next = this.#late[0]; next !== undefined; next = this.#late[0]) {
      const ms = next.due - performance.now();
      if (ms > 0) {
        // rounded up: a timer may run a fraction of a millisecond early
        this.#timer = setTimeout(() => this.#wait(), Math.ceil(ms));
        return;
      }
      this.#late.shift();
      this.#lateBytes -= next.frame.length;
      if (this.#policy.lost.replies || this.#silent) this.#damaged = true;
      else if (!this.#client.destroyed) this.#client.write(next.frame);
    }
    if (this.#over.server) this.#serverClosed(false);
    this.#regulate();
  }

  // back-pressure: a side is read only while the other one has room for what it says
  #regulate(): void {
    const full = (bytes: number, to: Socket): boolean => bytes > ROOM || to.writableNeedDrain;
    if (full(this.#heldBytes, this.#server)) this.#client.pause();
    else this.#client.resume();
    if (full(this.#lateBytes, this.#client)) this.#server.pause();
    else this.#server.resume();
  }

  #clientClosed(): void {
    this.#over.client = true;
    // in a black hole the end vanishes like everything else: the server goes on to believe in this
    // client
    if (this.#policy.lost.requests || this.#held.length > 0) return;
    this.#server.end();
    this.#server.resume();
    if (this.#server.destroyed) this.#policy.closed(this);
  }

  #serverClosed(failed: boolean): void {
    this.#over.server = true;
    if (this.#policy.lost.replies || this.#silent) return;
    if (failed) this.cut();
    else if (this.#late.length === 0) {
      this.#client.end();
      if (this.#client.destroyed) this.#policy.closed(this);
    }
  }
}
