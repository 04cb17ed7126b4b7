/**
 * Giving back: releases that somebody waits for, and withdrawals that nobody does.
 *
 * Both are the same command, which is idempotent by id, and both are repeated until the store has
 * answered or what they would give back has ended by itself. So no acquisition that was given up
 * holds or waits for anything for longer than it must (I6), and no repetition can touch a newer
 * lease (I8). There is one such series of tries for an acquisition at a time: a plain withdrawal
 * that overtook the release which passes the lease on would free it under its heir (I7).
 */
import type { Clock } from '../clock.js';
import type { Park, Release, ReleaseReply } from '../engine/commands.js';
import { StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import { mayPass } from '../acquire/failures.js';

const RETRY_MS_MIN = 20;
const RETRY_MS_MAX = 1000;
/** Tries that somebody who waits for the answer waits for; further ones go on behind his back. */
const PATIENCE = 2;

/** What to give back. */
export interface ReleaseTask {
  /** The acquisition. */
  readonly id: string;
  readonly command: Release | Park;
  /** When there is nothing left to give back, on our clock. */
  readonly until: number;
  /** Resolves when it is settled whether the lease was passed on to this acquisition at all. */
  readonly after?: Promise<void> | undefined;
}

export interface ReleaseResult {
  readonly status: ReleaseReply['status'];
  /** True if an earlier try was not answered, so that it may have been the one that did it. */
  readonly repeated: boolean;
  /** Holds that the owner has left. */
  readonly holds: number;
}

/** One series of tries. */
interface Tries {
  until: number;
  /** Asked for again while it was under way: what it has found may have been too early. */
  again: boolean;
  readonly impatient: (() => void)[];
  readonly ended: ((returned: ReleaseResult | undefined) => void)[];
}

export class ReleaseRetrier {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #running = new Map<string, Tries>();
  #stopped = false;
  /** Ends the pauses between tries. */
  readonly #pauses = new Set<() => void>();
  #idle: (() => void)[] = [];

  constructor(requests: Requests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /**
   * Gives back. Resolves to the store's answer, or to `undefined` if it does not come soon; it is
   * tried further then.
   * @param answered hears the answer whenever it comes; `undefined` if it never did
   */
  release(
    what: ReleaseTask,
    answered?: (returned: ReleaseResult | undefined) => void,
  ): Promise<ReleaseResult | undefined> {
    return new Promise((resolve) => {
      const impatient = (): void => resolve(undefined);
      const ended = (returned: ReleaseResult | undefined): void => {
        answered?.(returned);
        resolve(returned);
      };
      const running = this.#running.get(what.id);
      if (running === undefined) {
        void this.#start(what, {
          until: what.until,
          again: false,
          impatient: [impatient],
          ended: [ended],
        });
        return;
      }
      running.until = Math.max(running.until, what.until);
      running.again = true;
      running.impatient.push(impatient);
      running.ended.push(ended);
    });
  }

  /** True while an acquisition is being given back. */
  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** Resolves when nothing is being given back any more. */
  settled(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Tries no further. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#pauses]) end();
  }

  async #start(what: ReleaseTask, tries: Tries): Promise<void> {
    this.#running.set(what.id, tries);
    const returned = await this.#tryUntil(what, tries);
    this.#running.delete(what.id);
    for (const end of tries.ended) end(returned);
    if (this.#running.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  async #tryUntil(what: ReleaseTask, tries: Tries): Promise<ReleaseResult | undefined> {
    const { command } = what;
    const impatient = (): void => {
      for (const tell of tries.impatient) tell();
    };
    let { after } = what;
    let pause = RETRY_MS_MIN;
    for (let failures = 0; ; ) {
      try {
        const reply = await this.#requests.send(command);
        // parking for nothing has no other answer than "absent"
        const { status, holds = 0 } = reply as Partial<ReleaseReply> & Pick<ReleaseReply, 'status'>;
        const missed = status === 'absent' || status === 'dequeued';
        const again = missed && tries.again;
        tries.again = false;
        if (again) continue;
        if (!missed || after === undefined) return { status, holds, repeated: failures > 0 };
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
      if (this.#stopped || this.#clock.now() + pause >= tries.until) return undefined;
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
