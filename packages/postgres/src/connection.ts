/**
 * The connection of this package for its statements. It is separate from the pool of the program,
 * because tasks that hold all connections of the pool may wait for a lock whose holder needs a
 * connection to release it.
 *
 *     none --statement--> opening --> open --ended, or no answer in time--> none
 *
 * Statements run one after another. One without an answer in time ends the connection: then its
 * outcome is unknown, and the next statement opens another connection.
 */
import type { Driver, Kind, Opener, Row, Session } from './driver.js';
import { NoAnswer } from './failures.js';

export class Connection implements Driver {
  readonly isApart = true;
  readonly label: string;
  readonly subscribe: Opener | undefined;
  readonly #open: Opener;
  /** The longest time of a statement in ms. */
  readonly #limit: number;
  #session: Promise<Session> | undefined;
  /** Settles when the statements so far have ended. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(label: string, open: Opener, limit: number, subscribe: Opener | undefined) {
    this.label = label;
    this.#open = open;
    this.#limit = limit;
    this.subscribe = subscribe;
  }

  query(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]> {
    const result = this.#tail.then(() => this.#run(text, values, kind));
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Ends the connection. A later statement opens another one. */
  async close(): Promise<void> {
    await this.#tail;
    const session = await this.#session?.catch(() => undefined);
    this.#session = undefined;
    await session?.end(false);
  }

  async #run(
    text: string,
    values: readonly string[],
    kind: Kind | undefined,
  ): Promise<readonly Row[]> {
    const opening = (this.#session ??= this.#opened());
    return within(this.#limit, this.#ask(opening, text, values, kind), () => {
      this.#forget(opening);
      void opening.then((session) => session.end(true)).catch(() => undefined);
    });
  }

  async #ask(
    opening: Promise<Session>,
    text: string,
    values: readonly string[],
    kind: Kind | undefined,
  ): Promise<readonly Row[]> {
    const session = await opening;
    session.busy?.(true);
    try {
      return await session.query(text, values, kind);
    } finally {
      session.busy?.(false);
    }
  }

  #opened(): Promise<Session> {
    const opening: Promise<Session> = this.#open({
      message: () => undefined,
      ended: () => {
        this.#forget(opening);
        void opening.then((session) => session.end(true)).catch(() => undefined);
      },
    });
    opening.catch(() => this.#forget(opening));
    return opening;
  }

  #forget(opening: Promise<Session>): void {
    if (this.#session === opening) this.#session = undefined;
  }
}

/** Rejects if the answer takes longer than `limit` ms. */
export async function within<T>(
  limit: number,
  answer: Promise<T>,
  late: () => void = () => undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late();
      reject(new NoAnswer(`no answer within ${limit} ms`));
    }, limit);
    timer.unref();
  });
  try {
    return await Promise.race([answer, passed]);
  } finally {
    clearTimeout(timer);
  }
}
