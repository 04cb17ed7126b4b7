/**
 * Retries releases (a caller awaits the result) and withdrawals (no caller) until the store
 * answers.
 *
 * Each command is idempotent by id, and is repeated byte for byte until the store has answered, or
 * until the lease or the place in the queue has ended by itself. So an abandoned acquisition holds
 * or waits no longer than necessary (I6), and no repetition can affect a newer lease (I8). There is
 * one series of attempts per acquisition at a time.
 */
import { Link, Records } from '../../base/chain.js';
import type { Clock } from '../../base/clock.js';
import type { Park, Release, ReleaseReply, ReplyTo, Turn } from '../../engine/commands.js';
import { Pause } from '../../base/pause.js';
import { growing, retry } from '../../base/retry.js';
import { isRefusal } from '../../store/port.js';
import type { Receiver, Requests } from '../../store/requests.js';

const DELAY = growing(20, 1000);
/** After so many attempts the caller stops waiting; attempts continue in the background. */
const PATIENCE = 2;

export interface ReleaseTask {
  readonly id: string;
  readonly command: Release | Turn | Park;
  /** When nothing remains to be released, on the local clock. */
  readonly until: number;
  /**
   * Called before each attempt, except for the first one of `end`.
   * @param waited called again, because the request had to wait
   */
  readonly attempts?: (waited?: boolean) => void;
  readonly failed?: (error: unknown) => void;
}

export interface Told {
  /** `undefined` if the answer does not come soon: attempts continue. The first call counts. */
  readonly resolve: (returned: ReleaseResult | undefined) => void;
  /** Attempts have ended: with the answer, or with `undefined`. */
  readonly ended?: (returned: ReleaseResult | undefined) => void;
}

export interface ReleaseResult {
  readonly status: ReleaseReply['status'];
  readonly reply: Reply;
  /** An earlier attempt was not answered: it may have made the release. */
  readonly repeated: boolean;
  readonly holds: number;
}

/** It receives the answer to the first attempt, which usually decides. */
class Tries extends Link implements Receiver<Reply> {
  readonly id: string;
  readonly what: ReleaseTask;
  until: number;
  /** A further call came during an attempt, whose result may be too old. */
  again = false;
  /** The pause between attempts; none before the second. */
  pause: Pause | undefined;
  readonly told: Told[];
  readonly #retrier: ReleaseRetrier;

  constructor(retrier: ReleaseRetrier, what: ReleaseTask, told: Told) {
    super();
    this.#retrier = retrier;
    this.id = what.id;
    this.what = what;
    this.until = what.until;
    this.told = [told];
  }

  answered(reply: Reply): void {
    if (this.again && missed(reply)) void this.#retrier.goOn(this, Promise.resolve(reply));
    else this.#retrier.over(this, resultOf(reply, false));
  }

  failed(error: Error): void {
    void this.#retrier.goOn(this, Promise.reject(error));
  }

  late(): void {}

  due(): boolean {
    this.what.attempts?.(true);
    return true;
  }

  join({ until }: ReleaseTask, told: Told): void {
    this.until = Math.max(this.until, until);
    this.again = true;
    this.told.push(told);
  }
}

export class ReleaseRetrier {
  readonly #requests: Requests;
  readonly #clock: Clock;
  /** The series that `end` has begun, and the others: of roots that are not held, or not here. */
  readonly #ends = new Records<Tries>();
  readonly withdrawals: Records<Tries> = new Records<Tries>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(requests: Requests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /** Resolves to `undefined` if the answer does not come soon; attempts continue then. */
  release(what: ReleaseTask): Promise<ReleaseResult | undefined> {
    return new Promise((resolve) => {
      const running = this.#find(what.id);
      if (running !== undefined) return running.join(what, { resolve });
      what.attempts?.();
      this.#begin(this.withdrawals, what, { resolve }, this.#clock.now());
    });
  }

  /**
   * As `release`, for a root that was held until now: its end is not under way.
   * @param now the time of the clock in this step
   */
  end(what: ReleaseTask & Told, now: number): void {
    const { withdrawals } = this;
    const running = withdrawals.size === 0 ? undefined : withdrawals.find(what.id);
    if (running === undefined) this.#begin(this.#ends, what, what, now);
    else running.join(what, what);
  }

  has(id: string): boolean {
    return this.#find(id) !== undefined;
  }

  settled(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  stop(): void {
    this.#stopped = true;
    for (const { pause } of [...this.#ends.all(), ...this.withdrawals.all()]) pause?.wake();
  }

  get #isIdle(): boolean {
    return this.#ends.size === 0 && this.withdrawals.size === 0;
  }

  #find(id: string): Tries | undefined {
    return this.withdrawals.find(id) ?? this.#ends.find(id);
  }

  #begin(list: Records<Tries>, what: ReleaseTask, told: Told, now: number): void {
    const tries = new Tries(this, what, told);
    list.add(tries);
    this.#requests.post(what.command, tries, now);
  }

  /**
   * Goes on after a first attempt that has not decided.
   * @param first that attempt
   */
  async goOn(tries: Tries, first: Promise<Reply>): Promise<void> {
    this.over(tries, await this.#tryUntil(tries, first));
  }

  over(tries: Tries, returned: ReleaseResult | undefined): void {
    if (!this.#ends.remove(tries)) this.withdrawals.remove(tries);
    for (const told of tries.told) {
      told.ended?.(returned);
      told.resolve(returned);
    }
    if (this.#idle.length > 0 && this.#isIdle) for (const tell of this.#idle.splice(0)) tell();
  }

  /** `undefined` if attempts end before an answer. */
  #tryUntil(tries: Tries, first: Promise<Reply>): Promise<ReleaseResult | undefined> {
    const { what } = tries;
    const impatient = (): void => {
      for (const told of tries.told) told.resolve(undefined);
    };
    let made: Promise<Reply> | undefined = first;
    const attempt = async (failures: number): Promise<ReleaseResult | undefined> => {
      if (made === undefined) what.attempts?.();
      const sent = made ?? this.#requests.send(what.command);
      made = undefined;
      const reply = await sent;
      const again = missed(reply) && tries.again;
      tries.again = false;
      return again ? undefined : resultOf(reply, failures > 0);
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
        what.failed?.(error);
        // rights that were taken away may come back, and memory may become free
        if (isRefusal(error) || failures >= PATIENCE) impatient();
      },
      weak: true,
      pause: tries.pause,
    }).catch(() => undefined);
  }
}

/** The store answers a park command that wants nothing only with "absent". */
type Reply = ReplyTo<Release | Turn | Park>;

function missed({ status }: Reply): boolean {
  return status === 'absent' || status === 'dequeued';
}

function resultOf(reply: Reply, repeated: boolean): ReleaseResult {
  const { status, holds = 0 } = reply as Partial<ReleaseReply> & Pick<ReleaseReply, 'status'>;
  return { status, reply, holds, repeated };
}
