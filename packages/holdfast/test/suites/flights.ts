/** Single flight, on any backend. */
import { until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { FlightWork, Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued, turn, unused } from './helpers.js';

/** A cache that all processes share, and a count of its computations. */
class Cache {
  value: number | undefined;
  computations = 0;
  most = 0;
  #computing = 0;

  /** @param before Awaited before a computation ends. */
  work(before: () => unknown = turn): FlightWork<number> {
    return {
      fresh: () => this.value,
      compute: async ({ fence }) => {
        this.computations += 1;
        this.#computing += 1;
        this.most = Math.max(this.most, this.#computing);
        try {
          await before();
          this.value = fence;
          return fence;
        } finally {
          this.#computing -= 1;
        }
      },
    };
  }
}

/** Resolves when `open` is called. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

const several = (backend: Backend, count = 4): Promise<Holdfast[]> =>
  Promise.all(Array.from({ length: count }, () => backend.make()));

export function flightsSuite(backend: Backend): void {
  describe('a stampede', () => stampede(backend));
  describe('a flight that fails', () => failing(backend));
  describe('do', () => doing(backend));
  describe('cancellation', () => cancellation(backend));
}

function stampede(backend: Backend): void {
  it('of 1,000 callers in several instances computes once', async () => {
    const instances = await several(backend);
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const all = instances.flatMap((one) =>
      Array.from({ length: 250 }, () => one.singleFlight(key).run(cache.work(() => opened))),
    );
    // one instance computes, and one flight of each other instance waits
    await queued(instances[0] as Holdfast, key, 3);
    open();
    const values = new Set(await Promise.all(all));
    expect([...values]).toEqual([cache.value]);
    expect(cache.computations).toBe(1);
    await unused(instances[0] as Holdfast, key);
  });

  it('control: the count is higher if each caller checks and computes', async () => {
    const cache = new Cache();
    const { fresh, compute } = cache.work();
    const careless = async (): Promise<unknown> =>
      (await fresh()) ?? compute({ fence: 1 } as never);
    await Promise.all(Array.from({ length: 10 }, careless));
    expect(cache.computations).toBe(10);
    expect(cache.most).toBe(10);
  });

  it('control: the count is higher if waiters compute after the end', async () => {
    const instances = await several(backend);
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const careless = instances.map((one) =>
      one.mutex(key).run((lease) => cache.work(() => opened).compute(lease)),
    );
    await queued(instances[0] as Holdfast, key, 3);
    open();
    await Promise.all(careless);
    expect(cache).toMatchObject({ computations: 4, most: 1 });
  });

  it.each([undefined, null])('computes if fresh finds %s', async (missing) => {
    const flight = (await backend.make()).singleFlight(freshKey());
    const value = await flight.run<string>({ fresh: () => missing, compute: () => 'computed' });
    expect(value).toBe('computed');
  });

  it('sends no request while the value is fresh', async () => {
    const holdfast = await backend.make();
    const flight = holdfast.singleFlight(freshKey());
    const never = (): never => {
      throw new Error('computed');
    };
    await using _lease = await holdfast.mutex(flight.key).acquire();
    expect(await flight.run<string>({ fresh: () => '', compute: never })).toBe('');
    expect(await flight.run<number>({ fresh: async () => 0, compute: never })).toBe(0);
  });
}

function failing(backend: Backend): void {
  it('rejects the callers of its instance, and each next instance computes in turn', async () => {
    const instances = await several(backend);
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const fails = async (): Promise<never> => {
      await opened;
      throw new Error(`computation ${cache.computations}`);
    };
    const first = instances[0] as Holdfast;
    const failed = [1, 2].map(() => later(first.singleFlight(key).run(cache.work(fails))));
    await until(() => cache.computations === 1);
    const others = instances.slice(1).flatMap((one) =>
      [1, 2].map(() =>
        one.singleFlight(key).run(
          // the second computation fails as well
          cache.work(() => (cache.computations === 2 ? fails() : turn())),
        ),
      ),
    );
    const settled = Promise.allSettled(others);
    await queued(first, key, 3);
    open();
    for (const one of failed) await expect(one).rejects.toThrow('computation 1');
    const outcomes = await settled;
    const rejected = outcomes.filter(({ status }) => status === 'rejected');
    expect(rejected).toHaveLength(2);
    expect(cache).toMatchObject({ computations: 3, most: 1 });
    await unused(first, key);
  });

  it('hands over to the waiters, which check the cache before they compute', async () => {
    const instances = await several(backend);
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const work = cache.work(async () => {
      await opened;
      // for the store this is the same as a crash of its process
      if (cache.computations === 1) await instances[1]?.forceRelease(key);
      if (cache.computations === 1) throw new Error('late');
    });
    const all = instances.map((one) => later(one.singleFlight(key).run(work)));
    await queued(instances[0] as Holdfast, key, 3);
    open();
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(cache.computations).toBe(2);
  });
}

function doing(backend: Backend): void {
  it('returns the value to the computing caller, and only the end to the others', async () => {
    const [one, other] = (await several(backend, 2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const { open, opened } = gate();
    const compute = async (): Promise<number> => {
      await opened;
      return 7;
    };
    const first = one.singleFlight(key).do(compute);
    await until(async () => (await one.inspect(key)) !== null);
    const rest = [
      one.singleFlight(key).do(compute),
      other.singleFlight(key).do(compute),
      other.singleFlight(key).do(compute),
    ];
    await queued(one, key, 1);
    open();
    expect(await first).toEqual({ led: true, value: 7 });
    expect(await Promise.all(rest)).toEqual([{ led: false }, { led: false }, { led: false }]);
  });

  it('rejects only with the error of its own computation', async () => {
    const [one, other] = (await several(backend, 2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const { open, opened } = gate();
    const compute = async (): Promise<never> => {
      await opened;
      throw new Error('own');
    };
    const first = later(one.singleFlight(key).do(compute));
    await until(async () => (await one.inspect(key)) !== null);
    const rest = [one.singleFlight(key).do(compute), other.singleFlight(key).do(compute)];
    await queued(one, key, 1);
    open();
    await expect(first).rejects.toThrow('own');
    expect(await Promise.all(rest)).toEqual([{ led: false }, { led: false }]);
  });
}

function cancellation(backend: Backend): void {
  it('ends one wait, and has no effect on the others', async () => {
    const [one, other] = (await several(backend, 2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const work = cache.work(() => opened);
    const computing = one.singleFlight(key).run(work, { wait: 0 });
    await until(() => cache.computations === 1);
    await failure(one.singleFlight(key).run(work, { wait: 0 }), 'HOLDFAST_TIMEOUT');
    await failure(other.singleFlight(key).run(work, { wait: 20 }), 'HOLDFAST_TIMEOUT');
    // no caller of that instance waits any more
    await queued(one, key, 0);
    const caller = new AbortController();
    const patient = other.singleFlight(key).run(work);
    const aborting = later(other.singleFlight(key).run(work, { signal: caller.signal }));
    await queued(one, key, 1);
    caller.abort();
    await failure(aborting, 'HOLDFAST_ABORTED');
    await failure(other.singleFlight(key).run(work, { signal: caller.signal }), 'HOLDFAST_ABORTED');
    open();
    expect(await patient).toBe(await computing);
    expect(cache.computations).toBe(1);
  });

  it('rejects the waiters when their instance closes', async () => {
    const [one, other] = (await several(backend, 2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const cache = new Cache();
    const { open, opened } = gate();
    const computing = one.singleFlight(key).run(cache.work(() => opened));
    await until(() => cache.computations === 1);
    const waiting = later(other.singleFlight(key).run(cache.work()));
    await queued(one, key, 1);
    await other.close();
    await failure(waiting, 'HOLDFAST_CLOSED');
    const closed = one.close();
    open();
    expect(await computing).toBe(cache.value);
    await closed;
  });
}
