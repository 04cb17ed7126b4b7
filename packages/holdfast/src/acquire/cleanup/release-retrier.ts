/**
 * Retries releases (a caller awaits the result) and withdrawals (no caller).
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

type Ends = Release | Turn | Park;

export interface ReleaseTask {
  readonly id: string;
  readonly command: Ends;
  /** When nothing remains to be released, on the local clock. */
  readonly until: number;
}

interface Told {
  /**
   * @param returned `undefined` without an answer
   * @param isOver false if it does not come soon: attempts continue, and this is called again
   */
  resolve(returned: ReleaseResult | undefined, isOver: boolean): void;
}

export interface ReleaseResult {
  readonly status: ReleaseReply['status'];
  readonly reply: Reply;
  /** An earlier attempt was not answered: it may have made the release. */
  readonly repeated: boolean;
  readonly holds: number;
}

/** One command and its attempts. It receives the answer to the first, which usually decides. */
export class Attempts extends Link implements Receiver<Reply> {
  readonly id: string;
  command!: Ends;
  until: number;
  /** A further call came during an attempt, whose result may be too old. */
  joined = false;
  /** None before the second attempt. */
  pause: Pause | undefined;
  told!: Told[];
  readonly #retrier: ReleaseRetrier;

  constructor(retrier: ReleaseRetrier, id: string, until: number) {
    super();
    this.#retrier = retrier;
    this.id = id;
    this.until = until;
  }

  answered(reply: Reply): void {
    if (this.joined && missed(reply)) void this.#retrier.goOn(this, Promise.resolve(reply));
    else this.#retrier.over(this, resultOf(reply, false));
  }

  failed(error: Error): void {
    void this.#retrier.goOn(this, Promise.reject(error));
  }

  late(): void {}

  due(): boolean {
    this.sends(true);
    return true;
  }

  /**
   * Called before each attempt but the first.
   * @param _waited the first one, again: its request had to wait
   */
  sends(_waited: boolean): void {}

  missed(_error: unknown): void {}

  join(until: number, told: Told): void {
    this.until = Math.max(this.until, until);
    this.joined = true;
    this.told.push(told);
    this.pause?.wake();
  }
}

export class ReleaseRetrier {
  readonly #requests: Requests;
  readonly #clock: Clock;
  /** The series that `end` has begun, and the others: of roots that are not held, or not here. */
  readonly #ends = new Records<Attempts>();
  readonly withdrawals: Records<Attempts> = new Records<Attempts>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(requests: Requests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  /** Resolves to `undefined` if the answer does not come soon. */
  release(what: ReleaseTask): Promise<ReleaseResult | undefined> {
    return new Promise((resolve) => {
      const running = this.#find(what.id);
      if (running !== undefined) return running.join(what.until, { resolve });
      const attempts = new Attempts(this, what.id, what.until);
      attempts.command = what.command;
      attempts.told = [{ resolve }];
      this.withdrawals.add(attempts);
      this.#requests.post(attempts.command, attempts, this.#clock.now());
    });
  }

  /** As `release`, for a root that was held until now: its end is not under way. */
  end(end: Attempts & Told, now: number): void {
    const { withdrawals } = this;
    const running = withdrawals.size === 0 ? undefined : withdrawals.find(end.id);
    if (running !== undefined) return running.join(end.until, end);
    end.told = [end];
    this.#ends.add(end);
    this.#requests.post(end.command, end, now);
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

  #find(id: string): Attempts | undefined {
    return this.withdrawals.find(id) ?? this.#ends.find(id);
  }

  async goOn(attempts: Attempts, first: Promise<Reply>): Promise<void> {
    this.over(attempts, await this.#tryUntil(attempts, first));
  }

  over(attempts: Attempts, returned: ReleaseResult | undefined): void {
    if (!this.#ends.remove(attempts)) this.withdrawals.remove(attempts);
    for (const told of attempts.told) told.resolve(returned, true);
    if (this.#idle.length > 0 && this.#isIdle) for (const tell of this.#idle.splice(0)) tell();
  }

  #tryUntil(attempts: Attempts, first: Promise<Reply>): Promise<ReleaseResult | undefined> {
    let isTold = false;
    const impatient = (): void => {
      isTold = true;
      for (const told of attempts.told) told.resolve(undefined, false);
    };
    let made: Promise<Reply> | undefined = first;
    const attempt = async (failures: number): Promise<ReleaseResult | undefined> => {
      if (made === undefined) attempts.sends(false);
      const sent = made ?? this.#requests.send(attempts.command);
      made = undefined;
      const reply = await sent;
      const again = missed(reply) && attempts.joined;
      attempts.joined = false;
      return again ? undefined : resultOf(reply, failures > 0);
    };
    attempts.pause = new Pause(this.#clock);
    return retry(attempt, {
      clock: this.#clock,
      delay: DELAY,
      // a further call may extend it
      get until() {
        return attempts.until;
      },
      continues: (failures) => failures === 0 || !this.#stopped,
      failed: (error, failures) => {
        attempts.missed(error);
        // rights that were taken away may come back, and memory may become free
        if (isRefusal(error) || failures >= PATIENCE) impatient();
      },
      get weak() {
        return isTold;
      },
      pause: attempts.pause,
    }).catch(() => undefined);
  }
}

/** The store answers a park command that wants nothing only with "absent". */
type Reply = ReplyTo<Ends>;

function missed({ status }: Reply): boolean {
  return status === 'absent' || status === 'dequeued';
}

function resultOf(reply: Reply, repeated: boolean): ReleaseResult {
  const { status, holds = 0 } = reply as Partial<ReleaseReply> & Pick<ReleaseReply, 'status'>;
  return { status, reply, holds, repeated };
}
