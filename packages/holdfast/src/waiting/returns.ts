/**
 * Giving back: releases that somebody waits for, and withdrawals that nobody does.
 *
 * Both are the same command, which is idempotent by id, and both are repeated until the store has
 * answered or what they would give back has ended by itself. So no acquisition that was given up
 * holds or waits for anything for longer than it must (I6), and no repetition can touch a newer
 * lease (I8).
 */
import type { Clock } from '../clock.js';
import type { ReleaseReply } from '../engine/types.js';
import { StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { mayPass } from './failures.js';

const RETRY_MS_MIN = 20;
const RETRY_MS_MAX = 1000;
/** Tries that somebody who waits for the answer waits for; further ones go on behind his back. */
const PATIENCE = 2;

/** What to give back. */
export interface Return {
  readonly key: string;
  readonly id: string;
  /** Who takes the lease over, or `''`. */
  readonly to: string;
  /** When there is nothing left to give back, on our clock. */
  readonly until: number;
  /** Resolves when it is settled whether the lease was passed on to this acquisition at all. */
  readonly after?: Promise<void> | undefined;
}

export interface Returned {
  readonly status: ReleaseReply['status'];
  /** True if an earlier try was not answered, so that it may have been the one that did it. */
  readonly repeated: boolean;
}

export class Returns {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #retention: number;
  #running = 0;
  #stopped = false;
  /** Ends the pauses between tries. */
  readonly #pauses = new Set<() => void>();
  #idle: (() => void)[] = [];

  constructor(requests: Requests, clock: Clock, retention: number) {
    this.#requests = requests;
    this.#clock = clock;
    this.#retention = retention;
  }

  /**
   * Gives back. Resolves to the store's answer, or to `undefined` if it does not come soon; it is
   * tried further then.
   * @param answered hears the answer whenever it comes; `undefined` if it never did
   */
  giveBack(
    what: Return,
    answered?: (returned: Returned | undefined) => void,
  ): Promise<Returned | undefined> {
    this.#running += 1;
    return new Promise((resolve) => {
      void this.#tryUntil(what, () => resolve(undefined)).then((returned) => {
        answered?.(returned);
        resolve(returned);
        this.#running -= 1;
        if (this.#running === 0) for (const tell of this.#idle.splice(0)) tell();
      });
    });
  }

  /** Resolves when nothing is being given back any more. */
  settled(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Tries no further. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#pauses]) end();
  }

  async #tryUntil(what: Return, impatient: () => void): Promise<Returned | undefined> {
    const { key, id, to, until } = what;
    const command = { op: 'release', key, id, to, retention: this.#retention } as const;
    let { after } = what;
    let pause = RETRY_MS_MIN;
    for (let failures = 0; ; ) {
      try {
        const { status } = await this.#requests.send(command);
        const missed = status === 'absent' || status === 'dequeued';
        if (!missed || after === undefined) return { status, repeated: failures > 0 };
        // It may have overtaken the release that passes the lease on to it (a script that the
        // server did not know, a lost request): then that one would leave it holding for ever.
        const timer = this.#clock.after(PATIENCE * this.#requests.timeout, impatient, true);
        await after;
        timer.cancel();
        after = undefined;
        continue;
      } catch (error) {
        // what the server refuses for good, it would refuse each time
        if (isFinal(error)) return undefined;
        failures += 1;
        if (failures >= PATIENCE) impatient();
      }
      if (this.#stopped || this.#clock.now() + pause >= until) return undefined;
      await this.#pause(pause);
      if (this.#stopped) return undefined;
      pause = Math.min(RETRY_MS_MAX, pause * 2);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const timer = this.#clock.after(ms, end, true);
      this.#pauses.add(end);
    });
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof StoreFailure && error.answered && !mayPass(error);
}
