/**
 * The socket of a channel, which receives messages.
 *
 *     closed --listen--> open --its file is gone--> lost --bound again--> open
 *
 * A message is a hint: the process then asks the file, so a forged one grants nothing.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { MessageListener } from 'holdfast/register';
import { RegisterError } from 'holdfast/register';
import { identityOf, type Identity, isThere } from './place.js';
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
    try {
      await receiver.open();
    } catch (error) {
      if (error instanceof RegisterError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const why = `no sockets for messages: ${message}`;
      throw new RegisterError('transient', why, { cause: error });
    }
    listener.up();
    void this.#folder.tidy();
    return { close: () => receiver.close() };
  }
}

class Receiver {
  readonly #folder: WakeFolder;
  readonly #channel: string;
  readonly #listener: MessageListener;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #identity: Identity | undefined;
  #path = '';
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(folder: WakeFolder, channel: string, listener: MessageListener) {
    this.#folder = folder;
    this.#channel = channel;
    this.#listener = listener;
  }

  async open(): Promise<void> {
    this.#folder.prepare();
    this.#path = this.#folder.socketOf(this.#channel);
    // the channel is that of one process, so a socket that refuses is an old one of its own
    if ((await this.#folder.probe(this.#path)) === 'refused') rmSync(this.#path, { force: true });
    const server = createServer((socket) => this.#accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#folder.addressOf(this.#path), () => resolve());
    });
    server.on('error', () => undefined);
    server.unref();
    this.#server = server;
    this.#identity = identityOf(this.#path);
    this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#shut();
  }

  async #shut(): Promise<void> {
    clearTimeout(this.#timer);
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  }

  /** Binds the socket again if its file is gone. */
  async #look(): Promise<void> {
    if (this.#identity !== undefined && isThere(this.#path, this.#identity)) {
      this.#timer?.refresh();
      return;
    }
    if (this.#server !== undefined) this.#listener.down();
    await this.#shut();
    try {
      if (!this.#isClosed) await this.open();
      if (this.#isClosed) await this.#shut();
      else this.#listener.up();
    } catch {
      this.#identity = undefined;
      this.#timer?.refresh();
    }
  }

  #accept(socket: Socket): void {
    let text = '';
    this.#sockets.add(socket);
    socket.unref();
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() as string;
      for (const line of lines) this.#receive(line);
      if (text.length > LINE_MAX) socket.destroy();
    });
  }

  #receive(line: string): void {
    if (this.#isClosed) return;
    try {
      const [channel, text] = JSON.parse(line) as [unknown, unknown];
      if (channel === this.#channel && typeof text === 'string') this.#listener.message(text);
    } catch {
      // not a message of this package
    }
  }
}
