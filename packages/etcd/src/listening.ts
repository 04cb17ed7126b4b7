/**
 * Watches for the wake channels of this process. Each message is a change of a key of its channel.
 *
 * A watch that is opened again begins after the last change that it saw, so it misses nothing,
 * unless etcd has compacted that part of its history. A message to itself, sent again and again,
 * finds a watch that has died silently.
 */
import {
  keepListening,
  type MessageListener,
  RegisterError,
  type WakeConnection,
} from 'holdfast/register';
import { noAnswer, refusal } from './failures.js';
import type { Gateway } from './gateway.js';
import { base64, type Names, rangeOf, textOf } from './keys.js';

/** The end of the key of a message to itself. */
const ECHO = 'e';

/** What a watch says. */
interface Said {
  readonly result?: {
    readonly header: { readonly revision?: string };
    readonly created?: boolean;
    readonly canceled?: boolean;
    readonly cancel_reason?: string;
    readonly compact_revision?: string;
    readonly events?: readonly { readonly kv: { readonly key: string; readonly value?: string } }[];
  };
  readonly error?: object;
}

export class Listening {
  readonly #gateway: Gateway;
  readonly #names: Names;
  readonly #every: number | undefined;

  /** @param every the time between two messages to itself, in ms */
  constructor(gateway: Gateway, names: Names, every?: number) {
    this.#gateway = gateway;
    this.#names = names;
    this.#every = every;
  }

  /** Resolves when messages of the channel arrive. */
  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const prefix = this.#names.messages(channel);
    const watch = new Watch(this.#gateway, prefix, listener);
    const open = watch.open.bind(watch);
    const kept = await keepListening(listener, { open, every: this.#every });
    return {
      close: async () => {
        await kept.close();
        await this.#gateway.call('kv/deleterange', rangeOf(prefix), 'read').catch(() => undefined);
      },
    };
  }
}

class Watch {
  readonly #gateway: Gateway;
  /** The beginning of the keys of the channel. */
  readonly #prefix: string;
  readonly #listener: MessageListener;
  /** The last revision that it has seen; `0` if changes are missed anyway. */
  #seen = 0n;
  /** A message to itself arrived; `undefined` if none is on its way. */
  #echoed: (() => void) | undefined;

  constructor(gateway: Gateway, prefix: string, listener: MessageListener) {
    this.#gateway = gateway;
    this.#prefix = prefix;
    this.#listener = listener;
  }

  /** Opens a stream, and resolves when etcd watches. */
  async open(lost: () => void, signal: AbortSignal): Promise<WakeConnection> {
    // perhaps it waited for a revision that does not come
    if (this.#echoed !== undefined) this.#seen = 0n;
    this.#echoed = undefined;
    try {
      const lines = linesOf(await this.#start(signal));
      const first = await lines.next();
      if (first.done === true) throw new RegisterError('unanswered', 'the watch ended at once');
      this.#read(first.value);
      void this.#follow(lines).then(lost);
    } catch (error) {
      this.#gateway.forget(error);
      this.#gateway.leave();
      throw error instanceof RegisterError ? error : noAnswer('watch', error);
    }
    // the signal ends the stream
    return { echo: () => this.#echo(), close: () => undefined };
  }

  async #start(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const from = this.#seen === 0n ? {} : { start_revision: `${this.#seen + 1n}` };
    const create_request = { ...rangeOf(this.#prefix), ...from, filters: ['NODELETE'] };
    return this.#gateway.stream('watch', { create_request }, signal);
  }

  /** Reads the stream until it ends. */
  async #follow(lines: AsyncIterator<string>): Promise<void> {
    try {
      for (;;) {
        const line = await lines.next();
        if (line.done === true) break;
        this.#read(line.value);
      }
    } catch {
      // it is opened again
    }
  }

  /** Throws if the watch has ended. */
  #read(line: string): void {
    const { result, error } = JSON.parse(line) as Said;
    if (result === undefined) throw refusal('watch', 200, JSON.stringify(error ?? line));
    const { header, created, canceled, cancel_reason = '', compact_revision, events = [] } = result;
    const revision = BigInt(header.revision ?? 0);
    // the history is not there any more, or it is that of a backup
    if (compact_revision !== undefined || (created === true && revision < this.#seen)) {
      this.#seen = 0n;
      throw new RegisterError('unanswered', 'the watch cannot go on where it was');
    }
    if (canceled === true) throw refusal('watch', 200, JSON.stringify({ message: cancel_reason }));
    // at its beginning, changes since the last revision are still to come
    if (events.length > 0 || this.#seen === 0n) this.#seen = revision;
    for (const { kv } of events) this.#receive(textOf(kv.key), kv.value ?? '');
  }

  #receive(key: string, value: string): void {
    if (key === `${this.#prefix}${ECHO}`) return this.#echoed?.();
    let texts: unknown;
    try {
      texts = JSON.parse(textOf(value));
    } catch {
      // it was not written by this package
    }
    if (!Array.isArray(texts)) return;
    for (const text of texts) if (typeof text === 'string') this.#listener.message(text);
  }

  /** Sends a message to itself. */
  async #echo(): Promise<void> {
    const arrived = new Promise<void>((resolve) => (this.#echoed = resolve));
    const put = { key: base64(`${this.#prefix}${ECHO}`), value: '' };
    await Promise.all([this.#gateway.call('kv/put', put, 'change'), arrived]);
    this.#echoed = undefined;
  }
}

/** The lines of a stream of bytes. */
async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
}
