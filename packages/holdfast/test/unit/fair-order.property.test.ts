/**
 * Fair tasks of three processes get the lock in the order of their calls, whatever they do with
 * their leases and waits. In memory, where each request arrives at once.
 *
 * HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Holdfast, HoldfastError, type Lease } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { VirtualClock } from '../support/virtual-clock.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 200;
const TTL = 9000;

interface Task {
  readonly ttl: number;
  readonly maxHold: number | undefined;
  /** In ms. */
  readonly wait: number | undefined;
  readonly abortedAfter: number | undefined;
  readonly does: 'nothing' | 'extends' | 'stops' | 'parks' | 'refused' | 'releases';
  readonly holds: number;
}

const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { freq: 6, nil: undefined });

const tasks: fc.Arbitrary<Task> = fc.record({
  ttl: fc.constantFrom(TTL, TTL, TTL, TTL, 5000),
  maxHold: rarely(fc.constant(8000)),
  wait: rarely(fc.nat(30)),
  abortedAfter: rarely(fc.nat(30)),
  does: fc.constantFrom(
    'nothing',
    'nothing',
    'nothing',
    'extends',
    'stops',
    'parks',
    'refused',
    'releases',
  ),
  holds: fc.nat(25),
});

/** The tasks that a process begins in one step, and the time until the next step in ms. */
const steps = fc.array(
  fc.record({
    by: fc.nat(2),
    tasks: fc.array(tasks, { minLength: 1, maxLength: 5 }),
    pause: fc.integer({ min: 1, max: 15 }),
  }),
  { minLength: 2, maxLength: 8 },
);

class Run {
  readonly clock: VirtualClock = new VirtualClock();
  /** The numbers of the tasks, in the order of their grants. */
  readonly order: number[] = [];
  readonly ended: Promise<void>[] = [];
  readonly #instances: Holdfast[];
  #count = 0;

  constructor(localHandOffs: number) {
    const store = new MemoryStore(this.clock);
    const settings = { ttl: TTL, claimWindow: 1000, localHandOffs, clock: this.clock };
    this.#instances = [0, 1, 2].map(() => new Holdfast(store, settings));
  }

  begin(by: number, task: Task): void {
    const number = this.#count++;
    const control = new AbortController();
    const { ttl, maxHold, wait, abortedAfter, does } = task;
    if (abortedAfter !== undefined) this.clock.after(abortedAfter, () => control.abort());
    const mutex = (this.#instances[by] as Holdfast).mutex('k', { fair: true });
    const options = {
      ttl,
      signal: control.signal,
      ...(maxHold !== undefined && { maxHold }),
      ...(wait !== undefined && { wait }),
      ...(does === 'refused' && { wait: 0 }),
    };
    const work = async (lease: Lease): Promise<void> => {
      this.order.push(number);
      if (does === 'extends') await lease.extend(2 * TTL);
      if (does === 'stops') lease.stopRenewal();
      if (does === 'releases') void lease.release();
      if (does === 'parks') {
        const signalled = mutex.condition('c').await(lease, { wait: 1 });
        await signalled.catch(() => undefined);
      }
      await new Promise<void>((resolve) => void this.clock.after(task.holds, resolve));
    };
    const ended = mutex.run(work, options).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error;
    });
    this.ended.push(ended);
  }

  async close(): Promise<void> {
    await this.clock.until(Promise.all(this.ended));
    await this.clock.until(Promise.all(this.#instances.map((one) => one.close())));
  }
}

it('fair tasks get the lock in the order of their calls', async () => {
  const order = fc.asyncProperty(fc.nat(4), steps, async (localHandOffs, drawn) => {
    const run = new Run(localHandOffs);
    for (const { by, tasks: all, pause } of drawn) {
      for (const task of all) run.begin(by, task);
      await run.clock.advance(pause);
    }
    await run.close();
    expect(run.order).toEqual([...run.order].sort((a, b) => a - b));
  });
  await fc.assert(order, { seed: SEED, numRuns: RUNS });
}, 120_000);
