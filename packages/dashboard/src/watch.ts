/**
 * Lists the locks again and again while a page is open, once for all pages, and tells each page the
 * changes. The pause is at least as long as the list took.
 */
import { encode, type EventStream } from './events.js';
import { type Change, changeOf, type Row, rowOf, type Watched } from './rows.js';

/** A longer time of a timer would end at once. */
const TIMER_MAX = 2 ** 31 - 1;

export class Watch {
  readonly #holdfast: Watched;
  readonly #every: number;
  readonly #pages = new Set<EventStream>();
  #rows: ReadonlyMap<string, Row> = new Map<string, Row>();
  #running = false;
  #known = false;
  /** All rows as an event, made when a page needs it. */
  #whole: Uint8Array | undefined;
  #trouble: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wake: () => void = () => undefined;

  constructor(holdfast: Watched, every: number) {
    this.#holdfast = holdfast;
    this.#every = every;
  }

  /** Adds a page. It gets all rows first, and changes later. */
  add(page: EventStream): void {
    this.#pages.add(page);
    if (this.#trouble !== undefined) page.event(this.trouble());
    if (!this.#running) void this.#run();
  }

  remove(page: EventStream): void {
    this.#pages.delete(page);
    if (this.#pages.size === 0) this.#interrupt();
  }

  /** All rows as an event; `undefined` before they are known. */
  whole(): Uint8Array | undefined {
    if (!this.#known) return undefined;
    this.#whole ??= encode('whole', [...this.#rows.values()]);
    return this.#whole;
  }

  /** Why the last list failed, as an event; an empty text if it did not. */
  trouble(): Uint8Array {
    return encode('trouble', this.#trouble ?? '');
  }

  /** Lists at once, for example after a forced release. */
  refresh(): void {
    this.#interrupt();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#pages.size > 0) {
      const start = performance.now();
      await this.#look();
      const took = performance.now() - start;
      if (this.#pages.size > 0) await this.#pause(Math.max(this.#every, took));
    }
    this.#running = false;
    this.#known = false;
    this.#trouble = undefined;
    this.#rows = new Map();
    this.#whole = undefined;
  }

  async #look(): Promise<void> {
    const after = new Map<string, Row>();
    try {
      for await (const info of this.#holdfast.list('*')) {
        after.set(info.key, rowOf(info, Date.now(), this.#rows.get(info.key)));
      }
    } catch (error) {
      this.#setTrouble(error instanceof Error ? error.message : String(error));
      return;
    }
    this.#setTrouble(undefined);
    const change: Change = changeOf(this.#rows, after);
    this.#rows = after;
    if (!this.#known) {
      this.#known = true;
      for (const page of this.#pages) page.whole();
    } else if (change.rows.length + change.gone.length > 0) {
      this.#whole = undefined;
      const bytes = encode('change', change);
      for (const page of this.#pages) page.change(bytes);
    }
  }

  #setTrouble(trouble: string | undefined): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    const bytes = this.trouble();
    for (const page of this.#pages) page.event(bytes);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, Math.min(ms, TIMER_MAX));
    });
  }

  #interrupt(): void {
    clearTimeout(this.#timer);
    this.#wake();
  }
}
