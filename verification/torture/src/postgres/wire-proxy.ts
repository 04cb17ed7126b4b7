/**
 * A proxy of one process in front of PostgreSQL. It knows the frames of the server's messages, and
 * injects faults: bytes that are lost in one direction or both, answers that are lost or late,
 * statements that arrive after their client has given up, and closed connections.
 */
import { connect, createServer, type Server as Listener, type Socket } from 'node:net';
import { type Faults, ProxyFaults } from '../proxy-faults.js';

/** Type and length of a message. */
const HEADER = 5;
const NOTIFICATION = 'A'.charCodeAt(0);
/** The end of an answer. */
const READY = 'Z'.charCodeAt(0);

class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #faults: Faults;
  #held: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes were lost, so the connection cannot continue. */
  #damaged = false;
  #silent = false;
  #listens = false;

  constructor(client: Socket, path: string, faults: Faults, closed: () => void) {
    this.#client = client;
    this.#server = connect(path);
    this.#faults = faults;
    for (const socket of [client, this.#server]) socket.on('error', () => undefined);
    client.on('data', (bytes) => this.#fromClient(bytes));
    this.#server.on('data', (bytes) => this.#fromServer(bytes));
    client.on('close', () => {
      // held bytes reach the server even if their client has gone
      if (this.#held.length === 0 && !faults.requests) this.#server.end();
    });
    this.#server.on('close', () => {
      if (!faults.replies && !this.#silent) client.destroy();
      closed();
    });
  }

  get listens(): boolean {
    return this.#listens;
  }

  cut(): void {
    this.#held = [];
    this.#client.destroy();
    this.#server.destroy();
  }

  /** Loses all bytes from now on; the connection stays open. */
  die(): void {
    this.#silent = true;
  }

  heal(): void {
    if (this.#damaged) return this.cut();
    for (const bytes of this.#held.splice(0)) this.#server.write(bytes);
    if (this.#client.destroyed) this.#server.end();
  }

  #fromClient(bytes: Buffer): void {
    this.#listens ||= bytes.includes('LISTEN holdfast');
    if (this.#silent || this.#faults.requests) this.#damaged = true;
    else if (this.#faults.holds || this.#held.length > 0) this.#held.push(bytes);
    else this.#server.write(bytes);
  }

  #fromServer(bytes: Buffer): void {
    let rest: Buffer = Buffer.concat([this.#rest, bytes]);
    const frames: Buffer[] = [];
    let ends = false;
    while (rest.length >= HEADER && rest.length > rest.readUInt32BE(1)) {
      const frame = rest.subarray(0, rest.readUInt32BE(1) + 1);
      rest = rest.subarray(frame.length);
      ends ||= frame[0] === READY;
      if (frame[0] !== NOTIFICATION || !this.#faults.messages) frames.push(frame);
    }
    this.#rest = rest;
    const loss = ends ? this.#faults.loses() : undefined;
    if (loss === 'cut') return this.cut();
    if (loss === 'silence') this.#silent = true;
    if (this.#silent || this.#faults.replies) this.#damaged = true;
    else this.#deliver(Buffer.concat(frames));
  }

  #deliver(bytes: Buffer): void {
    const { late } = this.#faults;
    if (late === 0) this.#client.write(bytes);
    // the timers of one delay keep their order
    else setTimeout(() => this.#client.write(bytes), late);
  }
}

export class WireProxy extends ProxyFaults implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Listener;
  readonly #links = new Set<Link>();
  #refuses = false;

  private constructor(listener: Listener, path: string) {
    super();
    this.#listener = listener;
    this.port = (listener.address() as { port: number }).port;
    listener.on('connection', (socket) => {
      if (this.#refuses) return void socket.on('error', () => undefined).destroy();
      const link = new Link(socket, path, this.faults, () => this.#links.delete(link));
      this.#links.add(link);
    });
  }

  /** @param path the socket file of the server */
  static async start(path: string): Promise<WireProxy> {
    const listener = createServer();
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(0, '127.0.0.1', resolve);
    });
    return new WireProxy(listener, path);
  }

  /** The connections for messages lose all bytes, and stay open. */
  silenceListening(): void {
    for (const link of this.#links) if (link.listens) link.die();
  }

  cut(): void {
    for (const link of this.#links) link.cut();
  }

  refuse(): void {
    this.#refuses = true;
  }

  override heal(): void {
    super.heal();
    this.#refuses = false;
    for (const link of this.#links) link.heal();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#refuses = true;
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    this.cut();
    await closed;
  }
}
