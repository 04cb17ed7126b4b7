import { type Clock, systemClock, type Timer } from '../../base/clock.js';
import type { MessageListener } from './register.js';
import { RegisterError } from './register-error.js';

const PAUSE_MS = 50;
const PAUSE_MAX_MS = 5000;

/** An open connection. */
export interface WakeConnection {
  /** Sends a message to itself, and resolves when it arrives. */
  echo?(): Promise<unknown>;
  /** Ends the connection, at once if it `isLost`. */
  close(isLost: boolean): unknown;
}

/** How {@link keepListening} opens connections. */
export interface WakeTerms {
  /** Resolves when messages arrive. Calls `lost` when the connection has ended. */
  open(lost: () => void, signal: AbortSignal): Promise<WakeConnection>;
  /** The longest time of `open` and `echo`, in ms. Default 3,000. */
  readonly limit?: number | undefined;
  /** The time between echoes, in ms. Default 15,000. */
  readonly every?: number | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

/**
 * For `listen` of a register: opens another connection when one is lost, at once and then after
 * growing pauses, and calls `down` and `up`. Rejects if the first one does not open.
 */
export async function keepListening(
  listener: Pick<MessageListener, 'up' | 'down'>,
  terms: WakeTerms,
): Promise<{ close(): Promise<void> }> {
  const kept = new Kept(listener, terms);
  await kept.open();
  return kept;
}

class Attempt {
  readonly control = new AbortController();
  /** `undefined`: it is not open. */
  upSince: number | undefined;
  opening: Promise<WakeConnection> | undefined;
  fail: (error: Error) => void = () => undefined;
  #closed: Promise<unknown> | undefined;

  end(isLost: boolean): Promise<unknown> | undefined {
    this.control.abort();
    this.#closed ??= this.opening
      ?.then((connection) => connection.close(isLost))
      .catch(() => undefined);
    return this.#closed;
  }
}

class Kept {
  readonly #listener: Pick<MessageListener, 'up' | 'down'>;
  readonly #terms: WakeTerms;
  readonly #clock: Clock;
  #present: Attempt | undefined;
  #failures = 0;
  /** Connections in a row that ended soon. */
  #short = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(listener: Pick<MessageListener, 'up' | 'down'>, terms: WakeTerms) {
    this.#listener = listener;
    this.#terms = terms;
    this.#clock = terms.clock ?? systemClock;
  }

  async open(): Promise<void> {
    const attempt = new Attempt();
    this.#present = attempt;
    try {
      attempt.opening = this.#terms.open(() => this.#lost(attempt), attempt.control.signal);
      const connection = await this.#within(attempt, attempt.opening);
      if (this.#present !== attempt) throw ended();
      attempt.upSince = this.#clock.now();
      this.#failures = 0;
      this.#listener.up();
      this.#planEcho(attempt, connection);
    } catch (error) {
      if (this.#present === attempt) this.#present = undefined;
      void attempt.end(true);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    const attempt = this.#present;
    this.#present = undefined;
    attempt?.fail(ended());
    const closed = attempt?.end(false);
    // it may never open
    if (attempt?.upSince !== undefined) await closed;
  }

  #lost(attempt: Attempt): void {
    if (this.#present !== attempt) return;
    this.#present = undefined;
    attempt.fail(ended());
    const { upSince } = attempt;
    if (upSince === undefined) return;
    const lasted = this.#clock.now() - upSince >= PAUSE_MAX_MS;
    this.#short = lasted ? 0 : this.#short + 1;
    void attempt.end(true);
    this.#listener.down();
    // the first one may be replaced at once
    this.#again(this.#short - 1);
  }

  #again(failures: number): void {
    if (this.#isClosed) return;
    const grown = Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (failures - 1));
    const pause = failures <= 0 ? 0 : grown * (0.5 + Math.random());
    this.#plan(pause, () => {
      this.open().catch(() => {
        this.#failures += 1;
        this.#again(this.#failures);
      });
    });
  }

  #planEcho(attempt: Attempt, connection: WakeConnection): void {
    if (connection.echo === undefined) return;
    this.#plan(this.#terms.every ?? 15_000, () => void this.#echo(attempt, connection));
  }

  async #echo(attempt: Attempt, connection: WakeConnection): Promise<void> {
    try {
      await this.#within(attempt, Promise.resolve(connection.echo?.()));
      if (this.#present === attempt) this.#planEcho(attempt, connection);
    } catch {
      this.#lost(attempt);
    }
  }

  #within<T>(attempt: Attempt, answer: Promise<T>): Promise<T> {
    const { limit = 3000 } = this.#terms;
    return new Promise<T>((resolve, reject) => {
      attempt.fail = reject;
      const late = (): void => reject(unanswered(`no answer within ${limit} ms`));
      const timer = this.#clock.after(limit, late, true);
      answer.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #plan(ms: number, run: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, run, true);
  }
}

function ended(): RegisterError {
  return unanswered('the connection has ended');
}

function unanswered(why: string): RegisterError {
  return new RegisterError('unanswered', `messages: ${why}`);
}
