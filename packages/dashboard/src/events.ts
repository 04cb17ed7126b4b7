/**
 * The stream of events of one page (server-sent events), with bounded memory.
 *
 * The stream has no queue: it is asked for the next event when the connection has taken the last
 * one. The events in between wait here. Above a number of bytes they are dropped, and the page gets
 * all rows as they are when it reads again. A page that takes nothing between two beats is ended.
 */
import type { Watch } from './watch.js';

/** A comment is sent so often, so that proxies keep the connection and a dead one is noticed. */
export const BEAT_MS = 15_000;
/** After that time the page connects again, and its access is decided again. */
const LIFE_MS = 600_000;
/** The most bytes of events that wait for a slow page. */
export const BEHIND_MAX = 65_536;
/** A page that has not taken an event at so many beats is ended. */
const MISSED_MAX = 2;

const encoder = new TextEncoder();
const BEAT: Uint8Array = encoder.encode(':\n\n');

/** An event as bytes. They are made once for all pages. */
export function encode(event: string, data: unknown): Uint8Array {
  return encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #watch: Watch;
  readonly #onEnd: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #waiting: Uint8Array[] = [encoder.encode('retry: 1000\n\n')];
  #bytes = 0;
  /** The page needs all rows before it needs changes. */
  #needsWhole = true;
  /** Events were dropped, so the page may have missed the end of a trouble too. */
  #dropped = false;
  /** Ends the wait of a connection that can take an event. */
  #demand: (() => void) | undefined;
  #missed = 0;
  #ended = false;
  readonly #beat: NodeJS.Timeout;
  readonly #life: NodeJS.Timeout;

  /** @param onEnd called once, when the stream is ended by either side */
  constructor(watch: Watch, onEnd: () => void) {
    this.#watch = watch;
    this.#onEnd = onEnd;
    this.#beat = setInterval(() => this.#onBeat(), BEAT_MS);
    this.#life = setTimeout(() => this.end(), LIFE_MS);
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#stop(),
      },
      { highWaterMark: 0 },
    );
    watch.add(this);
  }

  /** A change of some rows. */
  change(bytes: Uint8Array): void {
    // all rows, which come later, have it
    if (!this.#needsWhole) this.event(bytes);
  }

  /** All rows are known now. */
  whole(): void {
    this.#needsWhole = true;
    this.#flush();
  }

  /** An event that is no part of the rows. */
  event(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (this.#demand === undefined && this.#bytes > BEHIND_MAX) {
      this.#waiting = [];
      this.#bytes = 0;
      this.#needsWhole = true;
      this.#dropped = true;
    }
    this.#flush();
  }

  /** Ends the stream; a connection that is behind is cut. */
  end(): void {
    if (this.#ended) return;
    if (this.#demand === undefined) this.#controller.error(new Error('the page is too slow'));
    else this.#controller.close();
    this.#stop();
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#beat);
    clearTimeout(this.#life);
    this.#waiting = [];
    this.#demand?.();
    this.#watch.remove(this);
    this.#onEnd();
  }

  #onBeat(): void {
    if (this.#demand !== undefined) this.event(BEAT);
    else if (++this.#missed >= MISSED_MAX) this.end();
  }

  #pull(): Promise<void> {
    this.#missed = 0;
    return new Promise((resolve) => {
      this.#demand = resolve;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#demand === undefined) return;
    const events = this.#waiting;
    const whole = this.#needsWhole ? this.#watch.whole() : undefined;
    if (whole !== undefined) {
      if (this.#dropped) events.push(this.#watch.trouble());
      events.push(whole);
      this.#needsWhole = false;
      this.#dropped = false;
    }
    if (events.length === 0) return;
    this.#waiting = [];
    this.#bytes = 0;
    for (const bytes of events) this.#controller.enqueue(bytes);
    const demand = this.#demand;
    this.#demand = undefined;
    demand();
  }
}
