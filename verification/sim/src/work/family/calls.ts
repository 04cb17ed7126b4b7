/** Tasks without a lease object: scheduled runs, and owners that lock by name. */
import { Part, REFUSALS } from './part.js';

/** Time for which a lock is kept after a scheduled run began, as a part of the ttl. */
const AT_LEAST = 0.3;

export class Scheduled extends Part {
  async perform(): Promise<void> {
    const { key, ttl, wait, slot, steps } = this.task;
    const options = { ttl, atLeast: Math.round(ttl * AT_LEAST), atMost: 20 * ttl };
    const schedule = this.client.holdfast.schedule(key, { ...options, retention: 60 * ttl });
    const limits = {
      ...(wait === undefined ? {} : { wait }),
      ...(slot === undefined ? {} : { slot }),
    };
    const done = await schedule.runOnce(async (run) => {
      const { fence } = run;
      const end = this.holdsToo(key, { id: this.prefix, fence, key, held: () => run.held });
      this.world.grants += 1;
      for (const step of steps) if ('ms' in step) await this.rest(step.ms);
      // a run that is held has not aborted its signal, and time is left
      const isOver = run.held && (run.signal.aborted || run.remaining <= 0);
      this.sound(run.key === key && !isOver);
      end();
    }, limits);
    if (!done.ran && done.reason === 'busy') this.blames('busy');
  }
}

export class Calls extends Part {
  async perform(): Promise<void> {
    if (this.task.how === 'run') await this.#run();
    else await this.#lock();
  }

  /** A late duplicate of a lock request would restore the hold that was unlocked. */
  get #renews(): boolean {
    return this.task.renew && !this.world.plan.network.loose;
  }

  /** A renewed lock has an owner of its own process: others could end its hold by name. */
  get #owner(): string {
    const { owner = '' } = this.task;
    return this.#renews ? `${owner} of ${this.client.name}` : owner;
  }

  /** Locks several times, and unlocks equally often. */
  async #lock(): Promise<void> {
    const { key, weight, ttl } = this.task;
    const { wait, signal } = this.options();
    const limits = { ...(wait === undefined ? {} : { wait }), ...(signal && { signal }) };
    let held = 0;
    for (let count = 0; count < weight; count++) {
      try {
        const options = { ...limits, renew: this.#renews, label: 'calls' };
        await this.client.holdfast.ownerLocks.lock(key, this.#owner, ttl, options);
        held += 1;
      } catch (error) {
        this.expect(error, REFUSALS);
      }
    }
    for (const step of this.task.steps) if ('ms' in step) await this.rest(step.ms);
    for (; held > 0; held--) await this.#unlock();
  }

  /** An owner's run; a call unlocks its hold during the run. */
  async #run(): Promise<void> {
    const mutex = this.client.holdfast.mutex(this.task.key);
    await mutex.run(
      async () => {
        for (const step of this.task.steps) if ('ms' in step) await this.rest(step.ms);
        await this.#unlock();
        await this.rest(1);
      },
      { ...this.options(), renew: this.#renews, sharedBy: this.#owner, label: 'calls' },
    );
  }

  /** Repeats the call if it ended no hold. */
  async #unlock(): Promise<void> {
    for (;;) {
      try {
        await this.client.holdfast.ownerLocks.unlock(this.task.key, this.#owner);
        return;
      } catch (error) {
        const codes = ['HOLDFAST_UNCERTAIN', 'HOLDFAST_REFUSED', 'HOLDFAST_CLOSED'];
        const code = this.expect(error, [...codes, 'HOLDFAST_UNREACHABLE']);
        const isOver = code !== 'HOLDFAST_UNREACHABLE' && code !== 'HOLDFAST_REFUSED';
        if (isOver || this.client.closing) return;
        await this.rest(this.task.ttl);
      }
    }
  }
}
