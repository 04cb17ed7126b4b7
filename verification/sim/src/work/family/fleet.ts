/**
 * Many leases of one process at the same time, while its wall clock steps.
 *
 * - `lapsed`: no lease that is renewed in a calm network is lost, also if the clock steps;
 * - `questions`: a step costs one request for each batch of leases, not one for each lease.
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import { checkRenewed } from '../../watch/needless.js';
import { Part, REFUSALS } from './part.js';

/** The most leases that one request verifies. */
const BATCH_MAX = 500;
/** A step while a request is under way makes its answer say nothing: the request is repeated. */
const PER_STEP = 2;
/** A difference of the two clocks from which on a suspend is assumed. */
const SUSPECT_MS = 1000;
/** A lease is released in the end; one that was lost has been reported. */
const ENDS = ['HOLDFAST_UNCERTAIN'];

export class Fleet extends Part {
  #held = 0;

  async perform(): Promise<void> {
    const { weight, steps } = this.task;
    const [begin = 0, rest = 0] = steps.map((step) => ('ms' in step ? step.ms : 0));
    const leases: Promise<void>[] = [];
    for (let first = 0; first < weight; first += BATCH_MAX) {
      const last = Math.min(weight, first + BATCH_MAX);
      for (let index = first; index < last; index++) leases.push(this.#one(index, rest));
      await this.rest(begin / Math.ceil(weight / BATCH_MAX));
    }
    const before = this.client.redis.questions;
    await Promise.all(leases);
    this.#count(this.client.redis.questions - before);
  }

  async #one(index: number, ms: number): Promise<void> {
    const key = `${this.task.key}/${index}`;
    let lease: Lease;
    try {
      lease = await this.client.holdfast.mutex(key).acquire(this.options());
    } catch (error) {
      this.expect(error, REFUSALS);
      return;
    }
    this.#held += 1;
    const over = this.holdsToo(key, lease);
    this.world.grants += 1;
    const since = this.client.process.time;
    const { name, ttl } = this.task;
    const lost = (): void => checkRenewed(this.world, this.client, { ttl, since, name, key });
    lease.signal.addEventListener('abort', lost, { once: true });
    await this.rest(ms);
    lease.signal.removeEventListener('abort', lost);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ENDS);
    }
    over();
  }

  #count(questions: number): void {
    const { plan } = this.world;
    const { machine } = this.client.plan;
    const steps = plan.faults.filter(
      (one) => one.kind === 'set-clock' && one.machine === machine && one.step > SUSPECT_MS,
    );
    const most = steps.length * PER_STEP * Math.ceil(this.#held / BATCH_MAX);
    if (questions <= most) return;
    const text = `${questions} requests verify ${this.#held} leases after ${steps.length} steps`;
    this.world.report('questions', this.task.key, text);
  }
}
