/**
 * Retries releases (a caller awaits the result) and withdrawals (no caller) until the store
 * answers.
 *
 * Both are the same command, which is idempotent by id. Both are repeated until the store has
 * answered, or until the lease or the place in the queue has ended by itself. So an abandoned
 * acquisition holds or waits no longer than necessary (I6), and no repetition can affect a newer
 * lease (I8). There is one series of attempts per acquisition at a time: a plain withdrawal that
 * overtook the release with the hand-off would free the lease that the successor holds (I7).
 */
import type { Clock } from '../clock.js';
import type { Park, Release, ReleaseReply } from '../engine/commands.js';
import { Pause } from '../pause.js';
import { growing, retry } from '../retry.js';
import { isRefusal } from '../store/port.js';
import type { Requests } from '../store/requests.js';

/** The pauses between attempts, in ms. */
const DELAY = growing(20, 1000);
/** Attempts before the caller stops waiting; later attempts continue in the background. */
const PATIENCE = 2;

/** What to release. */
export interface ReleaseTask {
  /** The id of the acquisition. */
  readonly id: string;
  readonly command: Release | Park;
  /** When nothing remains to be released, on the local clock. */
  readonly until: number;
  /** Resolves when it is known whether the lease was handed off to this acquisition at all. */
  readonly after?: Promise<void> | undefined;
}

export interface ReleaseResult {
  readonly status: ReleaseReply['status'];
  /** True if an earlier attempt was not answered: that attempt may have made the release. */
  readonly repeated: boolean;
  /** The remaining holds of the owner. */
  readonly holds: number;
}

/** A series of attempts. */
interface Tries {
  until: number;
  /** Set by a further call during an attempt: the result of that attempt may be too old. */
  again: boolean;
  readonly pause: Pause;
  readonly impatient: (() => void)[];
  readonly ended: ((returned: ReleaseResult | undefined) => void)[];
}

export class ReleaseRetrier {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #running = new Map<string, Tries>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(requests: Requests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /**
   * Releases. Resolves to the answer of the store, or to `undefined` if it does not come soon;
   * attempts continue then.
   * @param answered called with the answer whenever it comes, or with `undefined` when attempts end
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
          pause: new Pause(this.#clock),
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

  /** True while an acquisition is being released. */
  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** Resolves when no release is pending. */
  settled(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Stops all attempts. */
  stop(): void {
    this.#stopped = true;
    for (const { pause } of this.#running.values()) pause.wake();
  }

  async #start(what: ReleaseTask, tries: Tries): Promise<void> {
    this.#running.set(what.id, tries);
    const returned = await this.#tryUntil(what, tries);
    this.#running.delete(what.id);
    for (const end of tries.ended) end(returned);
    if (this.#running.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  /** Resolves to the answer of the store, or to `undefined` if attempts end before. */
  async #tryUntil(what: ReleaseTask, tries: Tries): Promise<ReleaseResult | undefined> {
    const impatient = (): void => {
      for (const tell of tries.impatient) tell();
    };
    let { after } = what;
    const attempt = async (failures: number): Promise<ReleaseResult | undefined> => {
      const reply = await this.#requests.send(what.command);
      // the store answers a park command that wants nothing only with "absent"
      const { status, holds = 0 } = reply as Partial<ReleaseReply> & Pick<ReleaseReply, 'status'>;
      const missed = status === 'absent' || status === 'dequeued';
      const again = missed && tries.again;
      tries.again = false;
      if (again) return undefined;
      if (!missed || after === undefined) return { status, holds, repeated: failures > 0 };
      // This release may have overtaken the one that hands the lease off to this acquisition (the
      // store sent that one again, or it was lost). That hand-off would then make it a holder that
      // is never released, so wait for it.
      const timer = this.#clock.after(PATIENCE * this.#requests.timeout, impatient, true);
      await after;
      timer.cancel();
      after = undefined;
      return undefined;
    };
    return retry(attempt, {
      clock: this.#clock,
      delay: DELAY,
      // a further call may extend it
      get until() {
        return tries.until;
      },
      continues: (failures) => failures === 0 || !this.#stopped,
      failed: (error, failures) => {
        if (isRefusal(error)) throw error;
        if (failures >= PATIENCE) impatient();
      },
      weak: true,
      pause: tries.pause,
    }).catch(() => undefined);
  }
}
