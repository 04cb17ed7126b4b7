/**
 * Sends messages to the sockets of other processes. A message is a line: its channel and its text,
 * as JSON. One that cannot be sent is lost, and its receiver polls.
 */
import { connect, type Socket } from 'node:net';
import type { Message } from 'holdfast/register';
import type { WakeFolder } from './wake-folder.js';

/** The most connections that are kept. */
const KEPT_MAX = 200;
/** A connection without a message is closed after this time, in ms. */
const IDLE_MS = 60_000;
/** A receiver that is stopped reads nothing: more than this is not kept for it, in bytes. */
const PENDING_MAX = 65_536;
/** How long messages may take when the last instance closes, in ms. */
const CLOSE_MS = 200;

export class Sending {
  readonly #folder: WakeFolder;
  /** By their channels. The one that was used last comes last. */
  readonly #sockets = new Map<string, Socket>();

  constructor(folder: WakeFolder) {
    this.#folder = folder;
  }

  send(messages: readonly Message[]): void {
    for (const { channel, text } of messages) {
      const socket = this.#sockets.get(channel) ?? this.#connected(channel);
      if (socket === undefined || socket.writableLength > PENDING_MAX) continue;
      this.#sockets.delete(channel);
      this.#sockets.set(channel, socket);
      // Node does not end before the message has left
      socket.ref();
      socket.write(`${JSON.stringify([channel, text])}\n`, () => {
        if (socket.writableLength === 0) socket.unref();
      });
    }
  }

  /** False if it is certain that no process listens on a channel. */
  async isAlive(channel: string): Promise<boolean> {
    const open = this.#sockets.get(channel);
    if (open !== undefined && open.readyState === 'open') return true;
    try {
      // without the folder, all processes poll
      if (!this.#folder.isOwn()) return true;
      const found = await this.#folder.probe(this.#folder.socketOf(channel));
      return found === 'open' || found === 'unknown';
    } catch {
      return true;
    }
  }

  /** Closes the connections when their messages have left. */
  async close(): Promise<void> {
    const sockets = [...this.#sockets.values()];
    this.#sockets.clear();
    await Promise.all(sockets.map(ended));
  }

  #connected(channel: string): Socket | undefined {
    try {
      if (!this.#folder.isOwn()) return undefined;
      const socket = connect(this.#folder.addressOf(this.#folder.socketOf(channel)));
      const forget = (): void => {
        if (this.#sockets.get(channel) === socket) this.#sockets.delete(channel);
      };
      socket.on('error', forget);
      socket.on('close', forget);
      socket.setTimeout(IDLE_MS, () => socket.end());
      const [oldest] = this.#sockets;
      if (oldest !== undefined && this.#sockets.size >= KEPT_MAX) {
        this.#sockets.delete(oldest[0]);
        oldest[1].end();
      }
      // a receiver sends nothing, but its end is seen
      socket.resume();
      return socket;
    } catch {
      return undefined;
    }
  }
}

function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.end(() => socket.destroy());
    if (socket.destroyed) {
      clearTimeout(timer);
      resolve();
    }
  });
}
