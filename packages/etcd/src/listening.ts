/**
 * Watches for the wake channels of this process. Each message is a change of a key of its channel.
 *
 *     opening --created--> open --ended, or silent--> lost --after a pause--> opening again
 *
 * A watch that is opened again begins after the last change that it saw, so it misses nothing,
 * unless etcd has compacted that part of its history. A message to itself, sent again and again,
 * finds a watch that has died silently.
 */
import { type MessageListener, RegisterError } from 'holdfast/register';
import { noAnswer, refusal } from './failures.js';
import type { Gateway } from './gateway.js';
import { base64, type Names, rangeOf, textOf } from './keys.js';

/** The first pause before a watch is opened again, in ms. It doubles up to the second. */
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 5000;
/** How long a message to itself, or the first answer of a watch, may take, in ms. */
const ECHO_MS = 3000;
/** The time between two of them, in ms. */
const ECHO_EVERY_MS = 15_000;
/** The end of its key. */
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
  readonly #every: number;

  /** @param every the time between two messages to itself, in ms */
  constructor(gateway: Gateway, names: Names, every: number = ECHO_EVERY_MS) {
    this.#gateway = gateway;
    this.#names = names;
    this.#every = every;
  }

  /** Resolves when messages of the channel arrive. */
  async listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const prefix = this.#names.messages(channel);
    const watch = new Watch({ gateway: this.#gateway, prefix, listener, every: this.#every });
    await watch.open();
    return watch;
  }
}

interface WatchTerms {
  readonly gateway: Gateway;
  /** The beginning of the keys of the channel. */
  readonly prefix: string;
  readonly listener: MessageListener;
  readonly every: number;
}

class Watch {
  readonly #gateway: Gateway;
  readonly #prefix: string;
  readonly #listener: MessageListener;
  readonly #every: number;
  /** The last revision that it has seen; `0` if changes are missed anyway. */
  #seen = 0n;
  #pause = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Ends the present stream. */
  #stream = new AbortController();
  /** A message to itself arrived. */
  #echoed: () => void = () => undefined;
  #isClosed = false;

  constructor({ gateway, prefix, listener, every }: WatchTerms) {
    this.#gateway = gateway;
    this.#prefix = prefix;
    this.#listener = listener;
    this.#every = every;
  }

  /** Opens a stream, and resolves when etcd watches. */
  async open(): Promise<void> {
    const stream = new AbortController();
    this.#stream = stream;
    const late = setTimeout(() => stream.abort(), ECHO_MS);
    try {
      const lines = linesOf(await this.#start(stream.signal));
      const first = await lines.next();
      if (first.done === true) throw new RegisterError('unanswered', 'the watch ended at once');
      this.#read(first.value);
      clearTimeout(late);
      void this.#follow(lines, stream);
    } catch (error) {
      stream.abort();
      this.#gateway.forget(error);
      throw error instanceof RegisterError ? error : noAnswer('watch', error);
    } finally {
      clearTimeout(late);
    }
    if (this.#isClosed) return stream.abort();
    this.#pause = 0;
    this.#listener.up();
    this.#plan(this.#every, () => void this.#check(stream));
  }

  /** Ends the watch, and removes its messages. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#stream.abort();
    const range = rangeOf(this.#prefix);
    await this.#gateway.call('kv/deleterange', range, 'read').catch(() => undefined);
  }

  async #start(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const from = this.#seen === 0n ? {} : { start_revision: `${this.#seen + 1n}` };
    const create_request = { ...rangeOf(this.#prefix), ...from, filters: ['NODELETE'] };
    return this.#gateway.stream('watch', { create_request }, signal);
  }

  /** Reads the stream until it ends. */
  async #follow(lines: AsyncIterator<string>, stream: AbortController): Promise<void> {
    try {
      for (;;) {
        const line = await lines.next();
        if (line.done === true) break;
        this.#read(line.value);
      }
    } catch {
      // it is opened again
    }
    this.#lost(stream);
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
    if (key === `${this.#prefix}${ECHO}`) return this.#echoed();
    let texts: unknown;
    try {
      texts = JSON.parse(textOf(value));
    } catch {
      // it was not written by this package
    }
    if (!Array.isArray(texts)) return;
    for (const text of texts) if (typeof text === 'string') this.#listener.message(text);
  }

  #lost(stream: AbortController): void {
    if (this.#stream !== stream || this.#isClosed) return;
    stream.abort();
    this.#stream = new AbortController();
    this.#listener.down();
    this.#again();
  }

  #again(): void {
    if (this.#isClosed) return;
    const pause = this.#pause * (0.5 + Math.random());
    this.#pause = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MS, this.#pause * 2));
    this.#plan(pause, () => {
      this.open().catch(() => {
        this.#gateway.leave();
        this.#again();
      });
    });
  }

  /** Looks whether messages still arrive. */
  async #check(stream: AbortController): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no message to itself')), ECHO_MS).unref();
    });
    const arrived = new Promise<void>((resolve) => (this.#echoed = resolve));
    try {
      const put = { key: base64(`${this.#prefix}${ECHO}`), value: '' };
      const sent = this.#gateway.call('kv/put', put, 'change');
      await Promise.race([Promise.all([sent, arrived]), late]);
      this.#plan(this.#every, () => void this.#check(stream));
    } catch {
      // perhaps it waits for a revision that does not come
      this.#seen = 0n;
      this.#lost(stream);
    } finally {
      clearTimeout(timer);
    }
  }

  #plan(ms: number, run: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, ms);
    this.#timer.unref();
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
