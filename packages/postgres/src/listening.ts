/**
 * The connection for messages: LISTEN, for the wake channels of this process.
 *
 * Behind a pooler that gives each transaction another connection, LISTEN succeeds and no message
 * arrives. So a channel counts as open when a message to itself has arrived. The same message, sent
 * again and again, finds a connection that has died silently.
 */
import { createHash } from 'node:crypto';
import {
  keepListening,
  type MessageListener,
  RegisterError,
  type WakeConnection,
} from 'holdfast/register';
import { within } from './connection.js';
import type { Opener, Session } from './driver.js';
import { announced, withdrawn } from './living.js';

/** How long a message to itself may take, in ms. */
const ECHO_MS = 3000;
/** How long it may take to open the connection and to listen on all channels, in ms. */
const OPEN_MS = 10_000;
/** A text that no message has. */
const ECHO = 'holdfast echo';

/** The last names of {@link channelOf}. */
const names = new Map<string, string>();
const NAMES_MAX = 1000;

/** The name of a channel in PostgreSQL, which has at most 63 bytes. */
export function channelOf(name: string): string {
  let channel = names.get(name);
  if (channel === undefined) {
    channel = `holdfast_${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
    if (names.size >= NAMES_MAX) names.clear();
    names.set(name, channel);
  }
  return channel;
}

interface Channel {
  readonly listener: MessageListener;
  /** Called when a message to itself arrives. */
  echoed: () => void;
  /** The connection that listens on it. */
  session: Session | undefined;
}

export class Listening {
  readonly #open: Opener;
  readonly #notify: (channel: string, text: string) => Promise<unknown>;
  readonly #isApart: boolean;
  readonly #channels = new Map<string, Channel>();
  #kept: ReturnType<typeof keepListening> | undefined;
  #session: Session | undefined;

  /**
   * @param notify sends a message on another connection
   * @param isApart false if that is the same connection
   */
  constructor(
    open: Opener,
    notify: (channel: string, text: string) => Promise<unknown>,
    isApart: boolean,
  ) {
    this.#open = open;
    this.#notify = notify;
    this.#isApart = isApart;
  }

  /** Resolves when messages of the channel arrive. */
  async listen(name: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const channel: Channel = { listener, echoed: () => undefined, session: undefined };
    this.#channels.set(name, channel);
    try {
      await (this.#kept ??= this.#keep());
      if (this.#session === undefined) {
        throw new RegisterError('transient', 'the connection for messages is opened again');
      }
      if (channel.session !== this.#session) {
        await this.#attach(name, channel, this.#session);
        listener.up();
      }
    } catch (error) {
      await this.#remove(name, channel);
      throw error;
    }
    return { close: () => this.#remove(name, channel) };
  }

  #keep(): ReturnType<typeof keepListening> {
    const all = {
      up: () => {
        for (const { listener, session } of this.#channels.values()) {
          if (session === this.#session) listener.up();
        }
      },
      down: () => {
        for (const { listener } of this.#channels.values()) listener.down();
      },
    };
    const kept = keepListening(all, { open: (lost) => this.#opened(lost), limit: OPEN_MS });
    kept.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return kept;
  }

  /** Opens a connection that listens on all channels. */
  async #opened(lost: () => void): Promise<WakeConnection> {
    const session = await this.#open({
      message: (name, text) => {
        const channel = this.#channels.get(name);
        if (text === ECHO) channel?.echoed();
        else channel?.listener.message(text);
      },
      ended: lost,
    });
    const close = async (isLost: boolean): Promise<void> => {
      if (this.#session === session) this.#session = undefined;
      for (const channel of this.#channels.values()) {
        if (channel.session === session) channel.session = undefined;
      }
      await session.end(isLost);
    };
    try {
      for (const one of this.#channels) await this.#attach(...one, session);
    } catch (error) {
      await close(true);
      throw error;
    }
    this.#session = session;
    return { close, echo: () => this.#echo(...([...this.#channels][0] as [string, Channel])) };
  }

  /** Begins to listen, and waits for a message to itself. */
  async #attach(name: string, channel: Channel, session: Session): Promise<void> {
    const isClosed = (): boolean => !this.#channels.has(name);
    await within(ECHO_MS, session.query(`LISTEN ${name}`, []));
    if (!isClosed()) await this.#echo(name, channel);
    // not before: behind a pooler, a session of another program would keep it
    if (this.#isApart) await within(ECHO_MS, session.query(announced(name), []));
    channel.session = session;
    if (isClosed()) await this.#detach(name, session);
  }

  async #detach(name: string, session: Session): Promise<void> {
    const texts = [`UNLISTEN ${name}`, ...(this.#isApart ? [withdrawn(name)] : [])];
    for (const text of texts) await session.query(text, []).catch(() => undefined);
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

  async #remove(name: string, channel: Channel): Promise<void> {
    if (this.#channels.get(name) !== channel) return;
    this.#channels.delete(name);
    // its message to itself would find it no more
    channel.echoed();
    if (this.#channels.size > 0) {
      // perhaps one that is still being opened for the other channels
      const session = channel.session ?? this.#session;
      if (session !== undefined) await this.#detach(name, session);
      return;
    }
    const kept = this.#kept;
    this.#kept = undefined;
    await (await kept?.catch(() => undefined))?.close();
  }
}
