/**
 * The socket of a channel, which receives messages. If its file is gone, it is bound again.
 *
 * A message is a hint: the process then asks the file, so a forged one grants nothing.
 */
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import {
  keepListening,
  type MessageListener,
  RegisterError,
  type WakeConnection,
} from 'holdfast/register';
import { identityOf, isThere } from './place.js';
import type { WakeFolder } from './wake-folder.js';

/** The time between two looks at the file of the socket, in ms. */
const LOOK_EVERY_MS = 5000;
/** The most characters of a line. */
const LINE_MAX = 65_536;

export class Listening {
  readonly #folder: WakeFolder;

  constructor(folder: WakeFolder) {
    this.#folder = folder;
  }

  /** Resolves when messages of the channel arrive. */
  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const receiver = new Receiver(this.#folder, channel, listener);
    let kept: { close(): Promise<void> };
    try {
      kept = await keepListening(listener, { open: () => receiver.open(), every: LOOK_EVERY_MS });
    } catch (error) {
      if (error instanceof RegisterError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const why = `no sockets for messages: ${message}`;
      throw new RegisterError('transient', why, { cause: error });
    }
    void this.#folder.tidy();
    return kept;
  }
}

class Receiver {
  readonly #folder: WakeFolder;
  readonly #channel: string;
  readonly #listener: MessageListener;

  constructor(folder: WakeFolder, channel: string, listener: MessageListener) {
    this.#folder = folder;
    this.#channel = channel;
    this.#listener = listener;
  }

  async open(): Promise<WakeConnection> {
    this.#folder.prepare();
    const path = this.#folder.socketOf(this.#channel);
    // the channel is that of one process, so a socket that refuses is an old one of its own
    if ((await this.#folder.probe(path)) === 'refused') rmSync(path, { force: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => this.#accept(socket, sockets));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#folder.addressOf(path), () => resolve());
    });
    server.on('error', () => undefined);
    server.unref();
    const identity = identityOf(path);
    return {
      // its file may be gone
      echo: async () => {
        if (identity === undefined || !isThere(path, identity)) throw new Error(`${path} is gone`);
      },
      close: () => {
        for (const socket of sockets) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
      },
    };
  }

  #accept(socket: Socket, sockets: Set<Socket>): void {
    let text = '';
    sockets.add(socket);
    socket.unref();
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() as string;
      for (const line of lines) this.#receive(line);
      if (text.length > LINE_MAX) socket.destroy();
    });
  }

  #receive(line: string): void {
    try {
      const [channel, text] = JSON.parse(line) as [unknown, unknown];
      if (channel === this.#channel && typeof text === 'string') this.#listener.message(text);
    } catch {
      // not a message of this package
    }
  }
}
