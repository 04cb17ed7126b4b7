/**
 * The invariants of the engine under random traffic. The judge must also detect an engine that
 * breaks them. HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { enableAssertions } from '../../../src/engine/assertions.js';
import { SortedSet } from '../../../src/engine/sorted-set.js';
import type { Holder } from '../../../src/engine/entries.js';
import { Resource } from '../../../src/engine/resource.js';
import type { Acquire, Park, Turn } from '../../../src/engine/commands.js';
import { Judge } from '../../support/judge.js';
import { type Step, traffic } from '../../support/traffic.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 800;

type Change = <C extends Acquire | Park | Turn>(one: C) => C;

function judged(change: Change): {
  judge: Judge[];
  property: fc.IProperty<[Step[]]>;
} {
  const judge: Judge[] = [];
  const property = fc.property(traffic, (steps) => {
    const own = new Judge();
    judge.push(own);
    own.run(
      steps.map((step) => {
        const { command } = step;
        const asks = ['acquire', 'park', 'turn'].includes(command.op);
        return asks ? { ...step, command: change(command as Acquire | Park | Turn) } : step;
      }),
    );
  });
  return { judge, property };
}

const asItIs: Change = (one) => one;
const total = (judges: readonly Judge[], what: 'grants' | 'overtakings'): number =>
  judges.reduce((sum, one) => sum + one[what], 0);

describe(`the invariants hold (HOLDFAST_SEED=${SEED})`, () => {
  it('in mixed traffic', () => {
    const { judge, property } = judged(asItIs);
    fc.assert(property, { seed: SEED, numRuns: RUNS });
    expect(total(judge, 'grants')).toBeGreaterThan(5000);
    expect(total(judge, 'overtakings')).toBeGreaterThan(200);
  });

  it('and when all waiters are fair, grants follow the order of the queue', () => {
    const { judge, property } = judged((one) => ({ ...one, fair: true }));
    fc.assert(property, { seed: SEED, numRuns: RUNS });
    expect(total(judge, 'grants')).toBeGreaterThan(5000);
    expect(total(judge, 'overtakings')).toBe(0);
  });
});

type Method = keyof Pick<
  Resource,
  | ('fits' | 'grant' | 'remove' | 'dequeue' | 'dropExpired' | 'enqueue' | 'join' | 'add')
  | ('resize' | 'takeBackFences')
>;

/** An engine in which one method of the resource is extended or replaced. */
function broken<M extends Method>(
  method: M,
  act: (resource: Resource, original: () => unknown, args: unknown[]) => unknown,
): void {
  const original = Resource.prototype[method] as (...args: unknown[]) => unknown;
  vi.spyOn(Resource.prototype, method).mockImplementation(function (
    this: Resource,
    ...args: unknown[]
  ) {
    return act(this, () => original.apply(this, args), args) as never;
  } as never);
}

/** Replaces the head of the queue by the result of `choose`. */
function headIs(choose: (resource: Resource) => string | undefined): void {
  broken('enqueue', (resource, enqueue) => {
    enqueue();
    resource.queue.at = () => choose(resource);
  });
}

type Mutable = { -readonly [F in 'fence' | 'handOffs' | 'weight']: Holder[F] };
const mutable = (holder: unknown): Mutable => holder as never;

const FAULTS: readonly (readonly [name: string, invariant: RegExp, plant: () => void])[] = [
  [
    'one permit too many',
    /I1|I2/,
    () => broken('fits', (one, _, [weight]) => one.used + Number(weight) <= one.capacity + 1),
  ],
  [
    'a fence that is the time',
    /I2/,
    () =>
      broken('grant', (_, grant, [, now]) => {
        const holder = mutable(grant());
        holder.fence = now as number;
        return holder;
      }),
  ],
  [
    'used fences of a root become free',
    /I2/,
    () =>
      broken('takeBackFences', (one, _, [holder]) => {
        one.fence = mutable(holder).fence;
      }),
  ],
  [
    'a grant beside a root',
    // Or hand-offs that the queue did not allow, if a fair waiter was passed.
    /I2|I4/,
    () => broken('fits', (one, _, [weight]) => one.used + Number(weight) <= one.capacity),
  ],
  [
    'hand-offs that never run out',
    // With hand-offs among several holders, the successor may hold a lease already.
    /I[1-4]/,
    () =>
      broken('add', (_, add, [holder]) => {
        mutable(holder).handOffs = 99;
        return add();
      }),
  ],
  [
    'a head that does not fit is skipped',
    /I4|I5/,
    () =>
      headIs((one) => {
        const ids = SortedSet.prototype.first.call(one.queue, 100);
        return ids.find((id) => one.used + (one.waiters.get(id)?.weight ?? 0) <= one.capacity);
      }),
  ],
  ['the last waiter comes first', /I4|I5/, () => headIs((one) => one.queue.first(100).at(-1))],
  [
    'the queue is not served',
    /I5/,
    () =>
      broken('enqueue', (one, enqueue) => {
        enqueue();
        const at = one.queue.at.bind(one.queue);
        let asked = 0;
        one.queue.at = (rank) => (asked++ % 2 === 0 ? undefined : at(rank));
      }),
  ],
  // Or an owner whose expired lease and next lease are both counted, or a lease at the end.
  ['expired leases stay', /I5|I6|count of owners/, () => broken('dropExpired', () => undefined)],
  [
    'an ended lease is still counted',
    /I1/,
    () =>
      broken('remove', (one, remove) => {
        const { used } = one;
        remove();
        one.used = used;
      }),
  ],
  [
    'a lease that weighs more but keeps its fence',
    /I2/,
    () =>
      broken('resize', (_, resize, [one]) => {
        const holder = mutable(one);
        const { fence } = holder;
        resize();
        holder.fence = fence;
      }),
  ],
  [
    'a lease that weighs more than the capacity',
    // Or a fence granted twice, if it was granted again in between.
    /I1|I2/,
    () =>
      broken('resize', (one, resize, [holder]) => {
        resize();
        one.used += 3;
        mutable(holder).weight += 3;
      }),
  ],
  [
    'a withdrawn waiter still counts as fair',
    /I4/,
    () =>
      broken('dequeue', (one, dequeue) => {
        const { fairWaiting } = one;
        const waiter = dequeue();
        one.fairWaiting = fairWaiting;
        return waiter;
      }),
  ],
];

describe('the judge detects', () => {
  // The engine's assertions would fire first for some of them.
  beforeAll(() => enableAssertions(false));
  afterAll(() => enableAssertions(true));

  it.each(FAULTS)('%s', (_, invariant, plant) => {
    plant();
    const { property } = judged(asItIs);
    const details = fc.check(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
    expect(details.failed).toBe(true);
    expect(String(details.errorInstance)).toMatch(invariant);
  });
});
