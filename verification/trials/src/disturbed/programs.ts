/**
 * Two programs with clients of their own, which use mutexes, calls for several mutexes, an election
 * and a condition until they are stopped. Their leases are far longer than a disturbance, so no
 * call may say that a lease was lost.
 */
import { type Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { paced, sleep, until } from 'holdfast-testkit';
import { add, type Output } from '../fail-over/scenario.js';
import { between, type Random } from '../support/random.js';
import { type Belief, Grants } from './grants.js';

/** Longer than a disturbance and the recovery from it. */
export const TTL = 120_000;
const ALONE = 'a lock of its own';
const SHARED = 'a shared lock';
const SEVERAL = 'several in one step';
/** Their calls do not wait, so their leases have the whole ttl from the beginning. */
const DIRECT: readonly string[] = [ALONE, SEVERAL];
const HOLD_MS = [0, 40] as const;
const TERM_MS = 100;
const PAUSE_MS = 20;
/** How long a wait at the condition lasts, at most. */
const WAIT_MS = 2000;
const SERVED_MS = 45_000;
/** With a planted fault, an activity that does not go on within this time is stuck. */
const STUCK_MS = 15_000;
/** Hand-offs in a row that come too soon for a poll. */
const PUSHED = 5;

/** What a call may say while servers are away: it is no answer about the lock. */
const OUTAGES: readonly string[] = [
  ...['HOLDFAST_UNREACHABLE', 'HOLDFAST_UNCERTAIN', 'HOLDFAST_UNACKNOWLEDGED'],
  'HOLDFAST_TIMEOUT',
];

type Ended = Pick<Lease, 'release' | 'held' | 'signal'>;

interface Surroundings extends Output {
  readonly random: Random;
  /** What disturbs the programs. */
  readonly name: string;
  /** Whether a waiter that got a lock may fail to confirm it in time. */
  readonly ends: boolean;
  /** A planted fault. */
  readonly fault: string | undefined;
  /** A new key. */
  key(): string;
}

interface Program {
  readonly name: string;
  readonly holdfast: Holdfast;
  /** The steps that it has ended, by activity. */
  readonly done: Map<string, number>;
}

export class Programs {
  readonly #programs: readonly Program[];
  readonly #around: Surroundings;
  readonly #grants: Grants;
  readonly #stop = new AbortController();
  #abandoned = false;
  readonly #working: Promise<unknown>;

  constructor(pair: readonly Holdfast[], around: Surroundings) {
    this.#around = around;
    this.#grants = new Grants(around.problems);
    this.#programs = pair.map((holdfast, at) => ({
      ...{ name: `program ${at + 1}`, holdfast },
      done: new Map<string, number>(),
    }));
    const keys = Array.from({ length: 4 }, () => around.key());
    const [shared, stock, office] = [around.key(), around.key(), around.key()];
    this.#working = Promise.all(
      this.#programs.flatMap((program) => {
        const alone = around.key();
        return [
          this.#repeat(program, ALONE, () => this.#holdAlone(program, alone)),
          this.#repeat(program, SHARED, () => this.#hold(program, shared, SHARED)),
          this.#repeat(program, 'run', () => this.#run(program, shared)),
          this.#repeat(program, SEVERAL, () => this.#several(program, keys)),
          this.#repeat(program, 'allOf', () => this.#allOf(program, keys)),
          this.#repeat(program, 'condition', () => this.#wait(program, stock)),
          this.#repeat(program, 'signal', () => this.#signal(program, stock)),
          this.#lead(program, office),
        ];
      }),
    );
  }

  /** How often programs have used the locks that no other program uses, by program. */
  get alone(): number[] {
    return this.#programs.map(({ done }) => done.get(ALONE) ?? 0);
  }

  /** All steps that ended. */
  get steps(): number {
    const all = this.#programs.flatMap(({ done }) => [...done.values()]);
    return all.reduce((sum, count) => sum + count, 0);
  }

  /** Whether every activity of every program goes on; if not, that is a problem. */
  async goesOn(): Promise<boolean> {
    const before = this.#around.problems.count('stuck');
    await Promise.all(this.#programs.map((program) => this.#goesOn(program)));
    return this.#around.problems.count('stuck') === before;
  }

  /** A lock that one program frees is handed to the other one by a message, not by a poll. */
  async isPushed(soon: number): Promise<void> {
    const [first, second] = this.#programs as [Program, Program];
    for (const [from, to] of [[first, second] as const, [second, first] as const]) {
      let row = 0;
      const pushed = async (): Promise<boolean> => {
        row = (await this.#handOff(from.holdfast, to.holdfast)) < soon ? row + 1 : 0;
        return row >= PUSHED;
      };
      await until(pushed, { within: paced(SERVED_MS) }).catch((error: unknown) => {
        this.#around.problems.add('polls', `${to.name}, ${this.#around.name}: ${String(error)}`);
      });
    }
  }

  /**
   * Ends the activities. After a planted fault a call may wait for a lease that no task releases.
   * Closing its instance ends the call, and the error of the call is no finding.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#around.fault !== undefined) {
      this.#abandoned = true;
      await Promise.all(this.#programs.map(({ holdfast }) => holdfast.close({ grace: 0 })));
    }
    await this.#working;
  }

  /** The ms from a release to the grant of the call that waits for it. */
  async #handOff(from: Holdfast, to: Holdfast): Promise<number> {
    const key = this.#around.key();
    const held = await from.mutex(key).acquire();
    const waits = to.mutex(key).acquire();
    const queued = async (): Promise<boolean> => (await from.inspect(key))?.waiterCount === 1;
    await until(queued, { within: paced(SERVED_MS) });
    const start = performance.now();
    await held.release();
    const next = await waits;
    const ms = performance.now() - start;
    await next.release();
    return ms;
  }

  async #goesOn({ name, done }: Program): Promise<void> {
    const before = new Map(done);
    const within = paced(this.#around.fault === undefined ? SERVED_MS : STUCK_MS);
    await Promise.all(
      [...before.keys()].map(async (activity) => {
        const more = (): boolean => (done.get(activity) ?? 0) > (before.get(activity) ?? 0);
        await until(more, { within, every: 20 }).catch(() => {
          this.#around.problems.add('stuck', `${name}, ${activity}, ${this.#around.name}`);
        });
      }),
    );
  }

  async #repeat(program: Program, activity: string, step: () => Promise<void>): Promise<void> {
    program.done.set(activity, 0);
    while (!this.#stop.signal.aborted) {
      try {
        await step();
        program.done.set(activity, (program.done.get(activity) ?? 0) + 1);
      } catch (error) {
        this.#judge(activity, error);
      }
      await sleep(between(this.#around.random, 1, PAUSE_MS));
    }
  }

  #judge(activity: string, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const code = isHoldfastError(error) ? error.code : 'another error';
    if (OUTAGES.includes(code)) add(this.#around, `${activity}: ${code}`);
    else if (code === 'HOLDFAST_LOST') this.#lost(activity, String(error));
    else this.#around.problems.add('answer', `${activity}, ${this.#around.name}: ${String(error)}`);
  }

  #lost(activity: string, how: string): void {
    if (this.#abandoned) return;
    const { ends, name, problems } = this.#around;
    if (ends && !DIRECT.includes(activity))
      add(this.#around, `${name}: leases with waiters that ended`);
    else problems.add('lost', `${activity}, ${name}: ${how}`);
  }

  async #hold({ holdfast }: Program, key: string, activity: string): Promise<void> {
    const lease = await holdfast.mutex(key).acquire({ signal: this.#stop.signal });
    try {
      await this.#extend(key, lease);
    } finally {
      await this.#release(lease, activity);
    }
  }

  /**
   * A lock that only this program uses. It does not wait behind its own call without an answer, and
   * releases until there is one: most calls for a lock with waiters fail in a half-moved slot.
   */
  async #holdAlone({ holdfast }: Program, key: string): Promise<void> {
    const mutex = holdfast.mutex(key);
    let lease = await mutex.tryAcquire();
    while (lease === null && !this.#stop.signal.aborted) {
      await sleep(PAUSE_MS);
      lease = await mutex.tryAcquire();
    }
    if (lease === null) return;
    try {
      await this.#extend(key, lease);
    } finally {
      while (!(await this.#isReleased(lease))) await sleep(PAUSE_MS);
    }
  }

  async #isReleased(lease: Ended): Promise<boolean> {
    try {
      await this.#release(lease, ALONE);
      return true;
    } catch (error) {
      this.#judge(ALONE, error);
      return this.#stop.signal.aborted;
    }
  }

  async #extend(key: string, lease: Lease): Promise<void> {
    await this.#work(key, lease, async () => {
      if (this.#around.random() < 0.3) await lease.extend(TTL);
    });
  }

  async #run({ holdfast }: Program, key: string): Promise<void> {
    const { signal } = this.#stop;
    await holdfast.mutex(key).run((lease) => this.#work(key, lease), { signal });
  }

  /** The calls of one step may go to the store together. */
  async #several({ holdfast }: Program, keys: readonly string[]): Promise<void> {
    const calls = await Promise.allSettled(keys.map((key) => holdfast.mutex(key).tryAcquire()));
    const got = calls.flatMap((call) => (call.status === 'fulfilled' ? (call.value ?? []) : []));
    await Promise.all(got.map((lease) => this.#work(lease.key, lease)));
    const ends = await Promise.allSettled(got.map((lease) => this.#release(lease, SEVERAL)));
    const failed = [...calls, ...ends].find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #allOf({ holdfast }: Program, keys: readonly string[]): Promise<void> {
    const lease = await holdfast.allOf(keys).acquire({ signal: this.#stop.signal });
    const parts = keys.map((key) => ({
      key,
      fence: lease.fences.get(key) as number,
      get held() {
        return lease.held;
      },
    }));
    try {
      await Promise.all(parts.map((part) => this.#work(part.key, part)));
    } finally {
      await this.#release(lease, 'allOf');
    }
  }

  async #wait({ holdfast }: Program, key: string): Promise<void> {
    const mutex = holdfast.mutex(key);
    const lease = await mutex.acquire({ signal: this.#stop.signal });
    try {
      const options = { wait: WAIT_MS, signal: this.#stop.signal };
      const woken = await mutex.condition('full').await(lease, options);
      await this.#work(key, lease);
      add(this.#around, woken ? 'conditions: woken' : 'conditions: not woken in time');
    } catch (error) {
      // after a wait without an answer, the lease may be in the store or not
      await lease.release().catch(() => undefined);
      throw error;
    }
    await this.#release(lease, 'condition');
  }

  async #signal({ holdfast }: Program, key: string): Promise<void> {
    const mutex = holdfast.mutex(key);
    const lease = await mutex.acquire({ signal: this.#stop.signal });
    try {
      await this.#work(key, lease, async () => {
        await mutex.condition('full').signal(lease);
      });
    } finally {
      await this.#release(lease, 'signal');
    }
  }

  /** Leads in turns with the other program, until the programs are stopped. */
  async #lead(program: Program, key: string): Promise<void> {
    const { holdfast, done, name } = program;
    done.set('lead', 0);
    const onFailure = (error: unknown): void => this.#judge('lead', error);
    const options = { signal: this.#stop.signal, pause: PAUSE_MS, onFailure };
    try {
      await holdfast.election(key).lead(async (leadership) => {
        const term: Belief = {
          fence: leadership.term,
          get held() {
            return leadership.leads;
          },
        };
        this.#grants.begin(key, term);
        await sleep(TERM_MS);
        this.#grants.end(key, term);
        done.set('lead', (done.get('lead') ?? 0) + 1);
      }, options);
    } catch (error) {
      this.#around.problems.add('lead ended', `${name}, ${this.#around.name}: ${String(error)}`);
    }
  }

  /** Holds a lock for a moment. */
  async #work(key: string, belief: Belief, more?: () => Promise<void>): Promise<void> {
    this.#grants.begin(key, belief);
    try {
      await sleep(between(this.#around.random, ...HOLD_MS));
      await more?.();
    } finally {
      this.#grants.end(key, belief);
    }
  }

  async #release(lease: Ended, activity: string): Promise<void> {
    const { held } = lease;
    if ((await lease.release()) !== 'lost') return;
    const why = held ? 'and the lease was held' : String(lease.signal.reason);
    this.#lost(activity, `the release says "lost", ${why}`);
  }
}
