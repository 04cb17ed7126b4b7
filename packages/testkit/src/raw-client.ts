/**
 * A minimal client: commands over one socket, in RESP2 until the test sends HELLO 3. It neither
 * reconnects nor retries, so a test sees exactly what the server sent.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { decode, encodeCommand, FrameSplitter, RespError, type Value } from './resp.js';

/** The address to connect to; with `ca`, over TLS. */
export interface Address {
  host: string;
  port: number;
  ca?: string;
}

interface Waiting {
  resolve: (value: Value) => void;
  reject: (error: Error) => void;
}

/** One connection. */
export class RawClient {
  /** Pushes of RESP3, and frames received while no command waits for a reply. */
  readonly pushes: Value[] = [];
  readonly #socket: Socket;
  readonly #splitter = new FrameSplitter('replies');
  #waiting: Waiting[] = [];
  #closed: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      for (const frame of this.#splitter.push(chunk)) this.#receive(frame);
    });
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection is closed')));
  }

  /** Connects, or rejects with the socket's error. */
  static connect({ host, port, ca }: Address): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = ca === undefined ? connect(port, host) : connectTls({ host, port, ca });
      socket.once('error', reject);
      socket.once(ca === undefined ? 'connect' : 'secureConnect', () => {
        socket.off('error', reject);
        resolve(new RawClient(socket));
      });
    });
  }

  /** Whether either side has closed the connection. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** The number of commands without a reply. */
  get unanswered(): number {
    return this.#waiting.length;
  }

  /**
   * Sends a command and resolves to its reply. Rejects with a RespError for an error reply, and
   * when the connection ends.
   */
  send(...words: (string | number | Buffer)[]): Promise<Value> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(encodeCommand(words));
    });
  }

  /** Sends raw bytes; replies to them are kept in `pushes`. */
  write(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Stops reading, so that replies accumulate at the server. */
  pauseReading(): void {
    this.#socket.pause();
  }

  /** Continues reading. */
  resumeReading(): void {
    this.#socket.resume();
  }

  /** Ends the connection at once. */
  close(): void {
    this.#socket.destroy();
  }

  #receive(frame: Buffer): void {
    const value = decode(frame);
    const waiting = frame[0] === '>'.charCodeAt(0) ? undefined : this.#waiting.shift();
    if (waiting === undefined) this.pushes.push(value);
    else if (value instanceof RespError) waiting.reject(value);
    else waiting.resolve(value);
  }

  #end(error: Error): void {
    this.#closed ??= error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(this.#closed);
  }
}
