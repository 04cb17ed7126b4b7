/**
 * Lists the locks again and again while a page is open, once for all pages, and tells each page the
 * changes. The pause is at least as long as the list took.
 */
import { type Change, changeOf, type Row, rowOf, type Watched } from './rows.js';

/** Receives events. */
export type Listener = (event: 'change' | 'trouble' | 'whole', data: unknown) => void;

export class Watch {
  readonly #holdfast: Watched;
  readonly #every: number;
  readonly #listeners = new Set<Listener>();
  #rows: ReadonlyMap<string, Row> = new Map<string, Row>();
  #running = false;
  #known = false;
  #trouble: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wake: () => void = () => undefined;

  constructor(holdfast: Watched, every: number) {
    this.#holdfast = holdfast;
    this.#every = every;
  }

  /** Adds a page. It gets all rows first, and changes later. Returns a function that removes it. */
  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#known) listener('whole', [...this.#rows.values()]);
    if (this.#trouble !== undefined) listener('trouble', this.#trouble);
    if (!this.#running) void this.#run();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#interrupt();
    };
  }

  /** Lists at once, for example after a forced release. */
  refresh(): void {
    this.#interrupt();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#listeners.size > 0) {
      const start = performance.now();
      await this.#look();
      const took = performance.now() - start;
      if (this.#listeners.size > 0) await this.#pause(Math.max(this.#every, took));
    }
    this.#running = false;
    this.#known = false;
    this.#trouble = undefined;
    this.#rows = new Map();
  }

  async #look(): Promise<void> {
    const after = new Map<string, Row>();
    try {
      for await (const info of this.#holdfast.list('*')) {
        after.set(info.key, rowOf(info, Date.now(), this.#rows.get(info.key)));
      }
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error);
      if (trouble !== this.#trouble) this.#tell('trouble', trouble);
      this.#trouble = trouble;
      return;
    }
    if (this.#trouble !== undefined) this.#tell('trouble', '');
    this.#trouble = undefined;
    const change: Change = changeOf(this.#rows, after);
    this.#rows = after;
    if (!this.#known) this.#tell('whole', [...after.values()]);
    else if (change.rows.length + change.gone.length > 0) this.#tell('change', change);
    this.#known = true;
  }

  #tell(...event: Parameters<Listener>): void {
    for (const listener of this.#listeners) listener(...event);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, ms);
    });
  }

  #interrupt(): void {
    clearTimeout(this.#timer);
    this.#wake();
  }
}
