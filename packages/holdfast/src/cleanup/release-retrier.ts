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
import type { Park, Release, ReleaseReply, ReplyTo } from '../engine/commands.js';
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

type Answered = (returned: ReleaseResult | undefined) => void;

/** A call of `release`. */
interface Call {
  readonly resolve: Answered;
  readonly answered: Answered | undefined;
}

/** A series of attempts. */
interface Tries {
  until: number;
  /** Set by a further call during an attempt: the result of that attempt may be too old. */
  again: boolean;
  /** The pause between attempts; none before the second. */
  pause: Pause | undefined;
  readonly calls: Call[];
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
  release(what: ReleaseTask, answered?: Answered): Promise<ReleaseResult | undefined> {
    return new Promise((resolve) => {
      const call = { resolve, answered };
      const running = this.#running.get(what.id);
      if (running === undefined) {
        this.#start(what, call);
        return;
      }
      running.until = Math.max(running.until, what.until);
      running.again = true;
      running.calls.push(call);
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
    for (const { pause } of this.#running.values()) pause?.wake();
  }

  /** Makes the first attempt, which usually decides. */
  #start(what: ReleaseTask, call: Call): void {
    const tries: Tries = { until: what.until, again: false, pause: undefined, calls: [call] };
    this.#running.set(what.id, tries);
    const first = this.#requests.send(what.command);
    const goOn = async (): Promise<void> => {
      this.#end(what.id, tries, await this.#tryUntil(what, tries, first));
    };
    first.then((reply) => {
      if (missed(reply) && (tries.again || what.after !== undefined)) void goOn();
      else this.#end(what.id, tries, resultOf(reply, false));
    }, goOn);
  }

  #end(id: string, { calls }: Tries, returned: ReleaseResult | undefined): void {
    this.#running.delete(id);
    for (const { resolve, answered } of calls) {
      answered?.(returned);
      resolve(returned);
    }
    if (this.#running.size === 0 && this.#idle.length > 0) {
      for (const tell of this.#idle.splice(0)) tell();
    }
  }

  /**
   * Resolves to the answer of the store, or to `undefined` if attempts end before.
   * @param first the first attempt, which was made before
   */
  #tryUntil(
    what: ReleaseTask,
    tries: Tries,
    first: Promise<Reply>,
  ): Promise<ReleaseResult | undefined> {
    const impatient = (): void => {
      for (const { resolve } of tries.calls) resolve(undefined);
    };
    let made: Promise<Reply> | undefined = first;
    let { after } = what;
    const attempt = async (failures: number): Promise<ReleaseResult | undefined> => {
      const sent = made ?? this.#requests.send(what.command);
      made = undefined;
      const reply = await sent;
      const again = missed(reply) && tries.again;
      tries.again = false;
      if (again) return undefined;
      if (!missed(reply) || after === undefined) return resultOf(reply, failures > 0);
      // This release may have overtaken the one that hands the lease off to this acquisition (the
      // store sent that one again, or it was lost). That hand-off would then make it a holder that
      // is never released, so wait for it.
      const timer = this.#clock.after(PATIENCE * this.#requests.timeout, impatient, true);
      await after;
      timer.cancel();
      after = undefined;
      return undefined;
    };
    tries.pause = new Pause(this.#clock);
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

/** The store answers a park command that wants nothing only with "absent". */
type Reply = ReplyTo<Release | Park>;

/** True if the store found nothing to release. */
function missed({ status }: Reply): boolean {
  return status === 'absent' || status === 'dequeued';
}

function resultOf(reply: Reply, repeated: boolean): ReleaseResult {
  const { status, holds = 0 } = reply as Partial<ReleaseReply> & Pick<ReleaseReply, 'status'>;
  return { status, holds, repeated };
}
