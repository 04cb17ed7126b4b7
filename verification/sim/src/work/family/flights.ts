/**
 * Callers of a single flight (`run`, or `do` if `how` is `acquire`). Judged is what its page
 * promises (`flight`):
 *
 * - while a process computes and believes in its lease, no other computation of the key begins;
 * - `run` gives the value of a computation, that was stored or ended after the call or was fresh;
 * - `do` says `led` to the caller that computed, and to no other; another one is told that a
 *   computation has ended, when one was under way during its call, or another call that failed;
 * - a caller gets the error of its own computation, or with `run` that of one in its process.
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import type { World } from '../../world/world.js';
import type { Attempt } from '../attempt.js';
import { Part, REFUSALS } from './part.js';

interface Computation {
  readonly attempt: Attempt;
  readonly lease: Lease;
  readonly key: string;
  readonly value: { readonly by: string };
  readonly error: Error;
  end: number;
}

/** All computations of a world, and the stored results by key. */
interface Results {
  readonly all: Computation[];
  /** Calls without a result: each may have had the lock, and given it up before it computed. */
  readonly failed: { readonly key: string; readonly end: number }[];
  readonly stored: Map<string, Computation>;
}

const RESULTS = new WeakMap<World, Results>();

export class Flights extends Part {
  #own: Computation | undefined;

  async perform(): Promise<void> {
    const { key, ttl, how, wait } = this.task;
    const signal = this.giveUp();
    const limits = { ...(wait !== undefined && { wait }), ...(signal && { signal }) };
    // no label: the callers of a process share an acquisition, which is not that of one task
    const flight = this.client.holdfast.singleFlight(key, { ttl });
    const compute = (lease: Lease): Promise<unknown> => this.#compute(lease);
    try {
      if (how === 'run')
        this.#ran(await flight.run({ fresh: () => this.#fresh(), compute }, limits));
      else this.#did(await flight.do(compute, limits));
    } catch (error) {
      this.#failed(error);
    }
  }

  get #results(): Results {
    let results = RESULTS.get(this.world);
    if (results === undefined) {
      results = { all: [], failed: [], stored: new Map() };
      RESULTS.set(this.world, results);
    }
    return results;
  }

  get #now(): number {
    return this.world.scheduler.now;
  }

  /** The result that a cache has, for as long as it is fresh. */
  #fresh(): unknown {
    const found = this.#results.stored.get(this.task.key);
    const isFresh = found !== undefined && this.#now - found.end < (this.task.fresh ?? 0);
    return isFresh ? found.value : undefined;
  }

  async #compute(lease: Lease): Promise<unknown> {
    const { key, name, fails, steps } = this.task;
    if (this.#own !== undefined) this.#wrong('computes twice');
    for (const one of this.#results.all) {
      if (
        one.key === key &&
        believes(one) &&
        lease.held &&
        !this.world.watch.excuses(key, one.lease.fence)
      ) {
        this.#wrong(`computes beside ${one.attempt.name}`);
      }
    }
    const error = new Error(`the computation of ${name}`);
    const own = { attempt: this.attempt, lease, key, value: { by: name }, error, end: Infinity };
    this.#own = own;
    this.#results.all.push(own);
    this.holds(lease);
    for (const step of steps) if ('ms' in step) await this.rest(step.ms);
    own.end = this.#now;
    if (fails === true) throw error;
    this.#results.stored.set(key, own);
    return own.value;
  }

  #ran(value: unknown): void {
    const found = this.#results.all.find((one) => one.value === value);
    if (found === undefined) return this.#wrong('run gave no result of a computation');
    const { fresh = 0 } = this.task;
    if (found.end < this.attempt.askedAt - fresh) this.#wrong('run gave an old result');
  }

  #did(result: { readonly led: boolean; readonly value?: unknown }): void {
    if (result.led !== (this.#own !== undefined)) this.#wrong(`led is ${result.led}`);
    if (result.led && result.value !== this.#own?.value) this.#wrong('do gave another value');
    if (result.led) return;
    const { key } = this.task;
    // without faults the lease ends with the computation; otherwise its release may be lost
    const lasts = this.world.plan.profile === 'calm' ? 0 : 2 * this.task.ttl;
    const since = this.attempt.askedAt - lasts;
    const { all, failed } = this.#results;
    const was = [...all, ...failed].some((one) => one.key === key && one.end >= since);
    if (!was) this.#wrong('was told of a computation, and there was none');
  }

  #failed(error: unknown): void {
    this.#results.failed.push({ key: this.task.key, end: this.#now });
    const found = this.#results.all.find((one) => one.error === error);
    if (found === undefined) {
      const code = String((error as { code?: unknown } | null | undefined)?.code);
      // a caller that shares a flight may blame it without a reply of its own
      if (code !== 'HOLDFAST_TIMEOUT') this.expect(error, [...REFUSALS, 'HOLDFAST_LOST']);
      return;
    }
    const isShared = this.task.how === 'run' && found.attempt.client === this.client;
    if (found !== this.#own && !isShared) this.#wrong(`got the error of ${found.attempt.name}`);
  }

  #wrong(text: string): void {
    this.world.report('flight', this.task.key, `${this.task.name} ${text}`);
  }
}

function believes({ attempt: { client }, lease, end }: Computation): boolean {
  return end === Infinity && client.process.alive && !client.process.stopped && lease.held;
}
