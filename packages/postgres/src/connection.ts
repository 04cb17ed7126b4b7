/**
 * The connection of this package for its statements. It is separate from the pool of the program,
 * because tasks that hold all connections of the pool may wait for a lock whose holder needs a
 * connection to release it.
 *
 *     none --statement--> opening --> open --ended, no answer in time, or no primary--> none
 *
 * Statements run one after another. One without an answer in time ends the connection: then its
 * outcome is unknown, and the next statement opens another connection. So does the answer of a
 * server that only reads: after a fail-over, the name of the primary may lead to another server.
 */
import type { Driver, Kind, Opener, Row, Session } from './driver.js';
import { isReadOnly, NoAnswer } from './failures.js';
import { isOfStandby } from './sql.js';

interface Statement {
  readonly text: string;
  readonly values: readonly string[];
  readonly kind: Kind | undefined;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Connection implements Driver {
  readonly isApart = true;
  readonly label: string;
  readonly subscribe: Opener | undefined;
  readonly #open: Opener;
  /** The longest time of a statement in ms. */
  readonly #limit: number;
  #session: Promise<Session> | undefined;
  /** The same, once it is open. */
  #opened: Session | undefined;
  #waiting: Statement[] = [];
  /** The statement that is under way, and its connection. */
  #asked: Statement | undefined;
  #used: Promise<Session> | undefined;
  /** Of that statement. It stays when the statement ends; the next one starts it again. */
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  #isClosed = false;

  constructor(label: string, open: Opener, limit: number, subscribe: Opener | undefined) {
    this.label = label;
    this.#open = open;
    this.#limit = limit;
    this.subscribe = subscribe;
  }

  query(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, values, kind, resolve, reject });
      if (this.#asked === undefined) this.#next();
    });
  }

  /** Undoes `close`: a connection stays open again. */
  use(): void {
    this.#isClosed = false;
  }

  /** Ends the connection. A later statement opens another one, which ends with the last of them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#asked !== undefined) await new Promise<void>((resolve) => this.#idle.push(resolve));
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const opening = this.#session;
    this.#session = undefined;
    this.#opened = undefined;
    await (await opening?.catch(() => undefined))?.end(false);
  }

  #next(): void {
    const one = this.#waiting.shift();
    this.#asked = one;
    if (one !== undefined) return this.#run(one);
    if (this.#isClosed && this.#idle.length === 0) void this.#leave();
    for (const tell of this.#idle.splice(0)) tell();
  }

  #run(one: Statement): void {
    const opening = (this.#session ??= this.#opening());
    this.#used = opening;
    if (this.#timer === undefined) this.#timer = setTimeout(this.#late, this.#limit).unref();
    else this.#timer.refresh();
    if (this.#opened !== undefined) return this.#ask(this.#opened, one);
    opening.then(
      (session) => this.#ask(session, one),
      (error: unknown) => this.#failed(one, error),
    );
  }

  #ask(session: Session, one: Statement): void {
    if (this.#asked !== one) return;
    session.busy?.(true);
    session.query(one.text, one.values, one.kind).then(
      (rows) => {
        session.busy?.(false);
        if (this.#asked !== one) return;
        if (isOfStandby(rows)) this.#endUsed();
        one.resolve(rows);
        this.#next();
      },
      (error: unknown) => {
        session.busy?.(false);
        if (this.#asked === one && isReadOnly(error)) this.#endUsed();
        this.#failed(one, error);
      },
    );
  }

  #failed(one: Statement, error: unknown): void {
    if (this.#asked !== one) return;
    one.reject(error);
    this.#next();
  }

  /** The statement under way has no answer in time. */
  readonly #late = (): void => {
    const one = this.#asked;
    if (one === undefined) return;
    this.#endUsed();
    this.#failed(one, new NoAnswer(`no answer within ${this.#limit} ms`));
  };

  #opening(): Promise<Session> {
    const opening: Promise<Session> = this.#open({
      message: () => undefined,
      ended: () => this.#end(opening),
    });
    opening.then(
      (session) => {
        if (this.#session === opening) this.#opened = session;
      },
      () => this.#forget(opening),
    );
    return opening;
  }

  /** Ends the connection of the statement under way. */
  #endUsed(): void {
    if (this.#used !== undefined) this.#end(this.#used);
  }

  #end(opening: Promise<Session>): void {
    this.#forget(opening);
    void opening.then((session) => session.end(true)).catch(() => undefined);
  }

  #forget(opening: Promise<Session>): void {
    if (this.#session !== opening) return;
    this.#session = undefined;
    this.#opened = undefined;
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
