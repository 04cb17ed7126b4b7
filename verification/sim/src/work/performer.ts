/**
 * Performs a task: acquires, works under the lease, writes to the fenced resource, and releases.
 * Records each step.
 */
import type { Happening } from 'holdfast-checker';
import type { AcquireOptions, Lease } from '../../../../packages/holdfast/dist/index.js';
import { ownerOf, type Step, type TaskPlan } from '../plan/plan.js';
import { labelOf } from '../plan/turns.js';
import { INNER } from '../watch/identities.js';
import { checkLoss } from '../watch/needless.js';
import type { Client } from '../world/client.js';
import type { World } from '../world/world.js';
import { Attempt } from './attempt.js';
import { mayBlame } from './blame.js';
import { REFUSALS } from './family/part.js';
import { isFamily, performFamily } from './family/perform.js';
import { type Lock, lockOf } from './locks.js';
import { meet, meets } from './meeting.js';
import { warning } from './warning.js';

export function perform(world: World, client: Client, task: TaskPlan): void {
  const attempt = new Attempt(task, client);
  const performer = new Performer(world, attempt);
  if (task.how === 'force' && !isFamily(task)) {
    void performer.force();
    return;
  }
  world.attempts.set(task.name, attempt);
  world.open += 1;
  if (isFamily(task)) {
    void performFamily(world, attempt);
    return;
  }
  if (meets(task)) {
    void meet(world, attempt);
    return;
  }
  world.called(attempt);
  void performer.acquire();
}

class Performer {
  readonly #world: World;
  readonly #attempt: Attempt;
  readonly #client: Client;
  readonly #task: TaskPlan;

  constructor(world: World, attempt: Attempt) {
    this.#world = world;
    this.#attempt = attempt;
    this.#client = attempt.client;
    this.#task = attempt.task;
  }

  async force(): Promise<void> {
    const { key: k } = this.#task;
    this.#note({ e: 'force', k });
    try {
      await this.#client.holdfast.forceRelease(k);
      // without a reply the server may still execute it
      this.#note({ e: 'forced', k });
    } catch (error) {
      this.#expect(error, ['HOLDFAST_UNCERTAIN', 'HOLDFAST_REFUSED', 'HOLDFAST_UNREACHABLE']);
    }
  }

  async acquire(): Promise<void> {
    const { how, key, weight, capacity, fair, wait } = this.#task;
    const owner = ownerOf(this.#task);
    const limit = wait === undefined ? {} : { wait };
    const owned = owner === undefined ? {} : { owner };
    this.#note({ e: 'ask', ...this.#about, weight, capacity, fair, ...limit, ...owned });
    try {
      if (how === 'run' || how === 'reenter') await this.#run();
      else await this.#take();
    } catch (error) {
      this.#fail(error);
    }
    this.#over();
    this.#world.watch.visit(key);
  }

  async #take(): Promise<void> {
    const lock = lockOf(this.#client.holdfast, this.#task);
    const options = this.#options();
    const lease = await (this.#task.how === 'try'
      ? lock.tryAcquire(options)
      : lock.acquire(options));
    if (lease === null) {
      this.#note({ e: 'fail', ...this.#about, code: null });
      this.#blames('null');
      return;
    }
    await this.#work(lease);
    if (this.#task.end === 'never') return this.#untilLost(lease);
    await this.#release(lease);
  }

  async #run(): Promise<void> {
    const reentrant = this.#task.how === 'reenter';
    const lock = lockOf(this.#client.holdfast, this.#task);
    let outcome = 'freed';
    try {
      await lock.run(async (given) => {
        const lease = given as Lease;
        await this.#work(lease, reentrant && this.#task.enters ? lock : undefined);
        if (reentrant && !this.#task.enters && lease.held) await this.#enter(lock, lease);
        this.#note({ e: 'release', ...this.#about });
      }, this.#options());
    } catch (error) {
      if (this.#attempt.lease === undefined) throw error;
      this.#expect(error, ['HOLDFAST_LOST']);
      outcome = 'lost';
    }
    this.#note({ e: 'released', ...this.#about, outcome });
  }

  /** A nested run needs no reply of the store, also when its machine's clock was just set. */
  async #enter(lock: Lock, lease: Lease): Promise<void> {
    if (lease.signal.aborted) return;
    // such a run would wait for its own outer lease
    if (this.#world.plan.ignores?.includes('deadlock') && !lease.held) return;
    const label = `${this.#task.name}${INNER}`;
    try {
      await lock.run(() => this.#client.process.turn(), { label });
    } catch (error) {
      this.#expect(error, ['HOLDFAST_LOST', ...REFUSALS]);
    }
  }

  #options(): AcquireOptions {
    const { task } = this.#attempt;
    const { ttl, renew, fair, maxHold, wait, abort, name } = task;
    const owner = ownerOf(task);
    const controller = new AbortController();
    if (abort !== undefined) {
      this.#client.process.later(abort, () => {
        // in `run`, a later abort would reach `lease.signal`, which means a loss here
        if (this.#attempt.lease === undefined) controller.abort(new Error('changed its mind'));
      });
    }
    return {
      ...{ ttl, renew, fair, label: labelOf(name) },
      ...warning(this.#world, this.#attempt),
      ...(maxHold === undefined ? {} : { maxHold }),
      ...(owner === undefined ? {} : { sharedBy: owner }),
      ...(wait === undefined ? {} : { wait }),
      ...(abort === undefined ? {} : { signal: controller.signal }),
    };
  }

  async #work(lease: Lease, lock?: Lock): Promise<void> {
    const { key, steps } = this.#task;
    this.#attempt.lease = lease;
    const { id, fence, held } = lease;
    this.#note({ e: 'grant', ...this.#about, id, fence, held });
    this.#world.granted(this.#attempt, lease);
    lease.signal.addEventListener('abort', () => this.#lose(), { once: true });
    if (lease.signal.aborted) this.#lose();
    for (const step of steps) {
      await this.#step(lease, step);
      if (lock !== undefined) await this.#enter(lock, lease);
      if (!(await this.#holds(lease))) break;
    }
    this.#world.watch.visit(key);
  }

  async #step(lease: Lease, step: Step): Promise<void> {
    const { process } = this.#client;
    switch (step.do) {
      case 'rest':
        return process.sleep(step.ms);
      case 'work':
        process.work(step.ms);
        this.#note({ e: 'stalled', ms: step.ms });
        return process.turn();
      case 'use':
        return this.#world.use(this.#attempt, lease.fence, step.late);
      case 'extend':
      case 'ensure':
        try {
          await lease[step.do](step.ms);
        } catch (error) {
          const codes = ['HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN', 'HOLDFAST_BAD_OPTION'];
          const code = this.#expect(error, codes);
          if (code === 'HOLDFAST_LOST' && !lease.signal.aborted) this.#unlost(error);
        }
    }
  }

  async #holds(lease: Lease): Promise<boolean> {
    if (!lease.held && !lease.signal.aborted) await this.#doubt(lease);
    const { held } = lease;
    if (held) this.#note({ e: 'hold', ...this.#about });
    else if (lease.signal.aborted) this.#lose();
    return !lease.signal.aborted;
  }

  /** A lease whose signal has not aborted must not be reported lost; asks the store. */
  async #doubt(lease: Lease): Promise<void> {
    try {
      lease.assertHeld();
    } catch (error) {
      const code = this.#expect(error, ['HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN']);
      if (code === 'HOLDFAST_LOST' && !lease.signal.aborted) this.#unlost(error);
    }
    const isHeld = await lease.verify();
    if (!isHeld && !lease.signal.aborted) this.#unlost('verify() is false');
  }

  #unlost(error: unknown): void {
    const text = `${this.#task.name} has not lost its lease, but got: ${String(error)}`;
    this.#world.report('unlost', this.#task.key, text);
  }

  #lose(): void {
    if (this.#attempt.lost) return;
    this.#attempt.lost = true;
    this.#note({ e: 'lost', ...this.#about });
    checkLoss(this.#world, this.#attempt);
  }

  async #untilLost(lease: Lease): Promise<void> {
    this.#attempt.abandoned = true;
    while (await this.#holds(lease)) {
      await this.#client.process.sleep(Math.max(1, lease.remaining / 2));
    }
  }

  async #release(lease: Lease): Promise<void> {
    this.#note({ e: 'release', ...this.#about });
    let outcome = 'uncertain';
    try {
      outcome = await lease.release();
      if (this.#task.end === 'twice' && (await lease.release()) !== outcome) {
        this.#world.report('outcome', this.#task.key, `${this.#task.name}: two different outcomes`);
      }
    } catch (error) {
      this.#expect(error, ['HOLDFAST_UNCERTAIN']);
    }
    this.#note({ e: 'released', ...this.#about, outcome });
    if (lease.held) this.#world.report('zombie', this.#task.key, `${this.#task.name} still holds`);
  }

  #fail(error: unknown): void {
    const code = this.#expect(error, REFUSALS);
    this.#note({ e: 'fail', ...this.#about, code });
    if (code === 'HOLDFAST_TIMEOUT') this.#blames(code);
  }

  /** Asserts that "another owner has the lock" is reported only after such a reply. */
  #blames(what: string): void {
    const { key, name } = this.#task;
    if (mayBlame(this.#world, this.#attempt)) return;
    this.#world.report('blames', key, `${name} ended with ${what} without a reply of the store`);
  }

  #over(): void {
    this.#attempt.overAt = this.#client.process.time;
    this.#world.ended(this.#attempt);
  }

  #expect(error: unknown, codes: readonly string[]): string {
    const code = String((error as { code?: unknown } | null)?.code);
    if (!codes.includes(code)) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#world.report('error', this.#task.key, `${this.#task.name}: ${text}`);
    }
    return code;
  }

  get #about(): { readonly k: string; readonly a: string } {
    return { k: this.#task.key, a: this.#task.name };
  }

  #note(what: Happening): void {
    this.#world.history.note(this.#client.process.time, this.#client.name, what);
  }
}
