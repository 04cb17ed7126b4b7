/**
 * The connection for messages: LISTEN, for the wake channels of this process.
 *
 *     none --first channel--> opening --listens, and a message to itself arrived--> open
 *      ^                         \--failed--> none, the call rejects
 *      |-- last channel closed --- open --ended, or silent--> lost --after a pause--> opening again
 *
 * Behind a pooler that gives each transaction another connection, LISTEN succeeds and no message
 * arrives. So a channel counts as open when a message to itself has arrived. The same message, sent
 * again and again, finds a connection that has died silently.
 */
import { createHash } from 'node:crypto';
import type { MessageListener } from 'holdfast/register';
import { within } from './connection.js';
import type { Opener, Session } from './driver.js';

/** The first pause before the connection is opened again, in ms. It doubles up to the second. */
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 5000;
/** How long a message to itself may take, in ms. */
const ECHO_MS = 3000;
/** The time between two of them, in ms. */
const ECHO_EVERY_MS = 15_000;
/** A text that no message has. */
const ECHO = 'holdfast echo';

/** The name of a channel in PostgreSQL, which has at most 63 bytes. */
export function channelOf(name: string): string {
  return `holdfast_${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
}

interface Channel {
  readonly listener: MessageListener;
  /** Called when a message to itself arrives. */
  echoed: () => void;
}

export class Listening {
  readonly #open: Opener;
  readonly #notify: (channel: string, text: string) => Promise<unknown>;
  readonly #channels = new Map<string, Channel>();
  #session: Promise<Session> | undefined;
  #pause = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param notify sends a message on another connection */
  constructor(open: Opener, notify: (channel: string, text: string) => Promise<unknown>) {
    this.#open = open;
    this.#notify = notify;
  }

  /** Resolves when messages of the channel arrive. */
  async listen(name: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const channel: Channel = { listener, echoed: () => undefined };
    this.#channels.set(name, channel);
    try {
      await this.#attach(name, channel, (this.#session ??= this.#opened()));
    } catch (error) {
      await this.#remove(name, channel);
      throw error;
    }
    this.#plan(ECHO_EVERY_MS, () => void this.#check());
    listener.up();
    return { close: () => this.#remove(name, channel) };
  }

  /** Begins to listen, and waits for a message to itself. */
  async #attach(name: string, channel: Channel, opening: Promise<Session>): Promise<void> {
    const session = await within(ECHO_MS, opening);
    await within(ECHO_MS, session.query(`LISTEN ${name}`, []));
    await this.#echo(name, channel);
  }

  async #echo(name: string, channel: Channel): Promise<void> {
    const arrived = new Promise<void>((resolve) => {
      channel.echoed = resolve;
    });
    await within(ECHO_MS, this.#notify(name, ECHO));
    try {
      await within(ECHO_MS, arrived);
    } catch (cause) {
      const why = 'is there a pooler in between? Give a direct URL as the option "listen"';
      throw new Error(`messages (NOTIFY) do not arrive: ${why}`, { cause });
    }
  }

  #opened(): Promise<Session> {
    const opening: Promise<Session> = this.#open({
      message: (name, text) => {
        const channel = this.#channels.get(name);
        if (text === ECHO) channel?.echoed();
        else channel?.listener.message(text);
      },
      ended: () => this.#lost(opening),
    });
    opening.catch(() => {
      if (this.#session === opening) this.#session = undefined;
    });
    return opening;
  }

  /** The connection is gone. Opens another one after a pause, if there are channels. */
  #lost(opening: Promise<Session>): void {
    if (this.#session !== opening) return;
    this.#session = undefined;
    void opening.then((session) => session.end(true)).catch(() => undefined);
    for (const { listener } of this.#channels.values()) listener.down();
    this.#again();
  }

  #again(): void {
    if (this.#channels.size === 0) return;
    const pause = this.#pause * (0.5 + Math.random());
    this.#pause = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MS, this.#pause * 2));
    this.#plan(pause, () => void this.#reopen());
  }

  async #reopen(): Promise<void> {
    const opening = (this.#session ??= this.#opened());
    try {
      const all = [...this.#channels];
      for (const [name, channel] of all) await this.#attach(name, channel, opening);
      this.#pause = 0;
      for (const [, { listener }] of all) listener.up();
      this.#plan(ECHO_EVERY_MS, () => void this.#check());
    } catch {
      if (this.#session !== opening && this.#session !== undefined) return;
      this.#session = undefined;
      void opening.then((session) => session.end(true)).catch(() => undefined);
      this.#again();
    }
  }

  /** Looks whether messages still arrive. */
  async #check(): Promise<void> {
    const opening = this.#session;
    const [first] = this.#channels;
    if (opening === undefined || first === undefined) return;
    try {
      await this.#echo(...first);
      this.#plan(ECHO_EVERY_MS, () => void this.#check());
    } catch {
      this.#lost(opening);
    }
  }

  async #remove(name: string, channel: Channel): Promise<void> {
    if (this.#channels.get(name) !== channel) return;
    this.#channels.delete(name);
    if (this.#channels.size === 0) return this.#end();
    const session = await this.#session?.catch(() => undefined);
    await session?.query(`UNLISTEN ${name}`, []).catch(() => undefined);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer);
    const opening = this.#session;
    this.#session = undefined;
    const session = await opening?.catch(() => undefined);
    await session?.end(false);
  }

  #plan(ms: number, run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms);
    this.#timer.unref();
  }
}
