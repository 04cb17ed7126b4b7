/**
 * The open file.
 *
 *     closed --call--> opening --> open --close, an error, another file has its name--> closed
 *
 * A call that finds the file locked by another connection has changed nothing. It pauses by timers
 * and is repeated, so the event loop goes on. SQLite's own waiting (`busy_timeout`) sleeps in the
 * call.
 */
import { performance } from 'node:perf_hooks';
import { RegisterError } from 'holdfast/register';
import { timeOf } from './boot-clock.js';
import type { Client } from './client.js';
import { failureOf, meaningOf } from './failures.js';
import { type Open, openFile } from './opening.js';
import { isThere } from './place.js';

/** So many repetitions come with the next turn of the event loop: most changes take less time. */
const TURNS = 3;
/** The longest pause, in ms. They begin at 1 ms. */
const PAUSE_MAX_MS = 16;

/** Another connection has locked the file. */
const BUSY = Symbol('busy');

export interface DatabaseTerms {
  readonly path: string;
  load(): Promise<Client>;
  /** The longest time of repetitions in ms. */
  readonly timeout: number;
}

export class Database {
  readonly path: string;
  readonly #terms: DatabaseTerms;
  #client: Client | undefined;
  #open: Open | undefined;
  /** The calls that find the file locked at the moment. */
  #waiting = 0;
  #wasOpen = false;
  /** The number of times that `close` was called. */
  #closings = 0;

  constructor(terms: DatabaseTerms) {
    this.path = terms.path;
    this.#terms = terms;
  }

  /** True while another program keeps the file locked. */
  get isLocked(): boolean {
    return this.#waiting > 0;
  }

  /**
   * Runs statements, again if the file is locked. They must not leave a transaction open.
   * @param run gets the open file and the time, in microseconds
   * @param mayOpen false: rejects if the file is closed
   */
  async run<T>(run: (open: Open, time: number) => T, mayOpen = true): Promise<T> {
    this.#client ??= await this.#terms.load();
    const end = performance.now() + this.#terms.timeout;
    const closings = this.#closings;
    for (let attempt = 0; ; attempt++) {
      if (!mayOpen && this.#open === undefined) throw new Error(`${this.path} is closed`);
      const result = this.#attempt(run, performance.now() >= end);
      if (result !== BUSY) return result;
      this.#waiting += 1;
      await pause(attempt);
      this.#waiting -= 1;
      if (this.#closings !== closings) {
        throw new RegisterError('unanswered', `${this.path} was closed`);
      }
    }
  }

  /** As `run`; the result is there at once, if the file is open and not locked. */
  runNow<T extends object>(run: (open: Open, time: number) => T): T | Promise<T> {
    if (this.#open === undefined) return this.run(run);
    const result = this.#attempt(run, false);
    return result === BUSY ? this.run(run) : result;
  }

  #attempt<T>(run: (open: Open, time: number) => T, isLast: boolean): T | typeof BUSY {
    try {
      const open = (this.#open ??= openFile(this.#client as Client, this.path));
      this.#wasOpen = true;
      const result = run(open, timeOf(open.origin));
      for (const { path, identity } of [
        { path: this.path, identity: open.identity },
        ...open.log,
      ]) {
        if (isThere(path, identity)) continue;
        throw new RegisterError('unanswered', `${path} was removed or replaced`);
      }
      return result;
    } catch (error) {
      const isBusy = meaningOf(error) === 'busy';
      if (!isBusy) this.#end();
      if (isBusy && !isLast) return BUSY;
      const failure = failureOf(error, this.path);
      if (!this.#wasOpen || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
      // it may come back
      throw new RegisterError('transient', failure.message, { cause: error });
    }
  }

  /** Closes the file, and ends the calls that find it locked. A later call opens it again. */
  close(): void {
    this.#closings += 1;
    this.#end();
  }

  #end(): void {
    const open = this.#open;
    this.#open = undefined;
    try {
      open?.handle.close();
    } catch {
      // what could not be written then is in the log, which the next process reads
    }
  }
}

function pause(attempt: number): Promise<void> {
  if (attempt < TURNS) return new Promise((resolve) => setImmediate(resolve));
  const longest = Math.min(PAUSE_MAX_MS, 2 ** (attempt - TURNS));
  return new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random())));
}
