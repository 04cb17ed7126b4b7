/** A lease in doubt: neither held nor lost until the store answers. */
import { beforeEach, describe, expect, it } from 'vitest';
import { assertLocked, Holdfast, type Leadership, type Lease, locked } from '../../src/index.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock, ttl: 9000, requestTimeout: 1000 });
});

/** Sets the wall clock forward, as it also is after the machine was suspended. */
const step = (): void => clock.sleep(60_000);

async function forceInStore(): Promise<void> {
  await Promise.all(
    store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
  );
}

/** The result of a promise while the clock advances. */
async function after<T>(ms: number, promise: Promise<T>): Promise<T | Error | 'pending'> {
  let result: T | Error | 'pending' = 'pending';
  promise.then(
    (value) => {
      result = value;
    },
    (error: Error) => {
      result = error;
    },
  );
  await clock.advance(ms);
  return result;
}

describe('a jump of the wall clock', () => {
  it('costs one request to the store, and the lease continues', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    step();
    expect([lease.held, lease.state, lease.remaining]).toEqual([false, 'doubted', 0]);
    expect(await after(0, lease.verify())).toBe(true);
    expect([lease.held, lease.state, signal.aborted]).toEqual([true, 'held', false]);
    expect(store.seen('poll')).toHaveLength(1);
    await clock.advance(60_000);
    expect(lease.held).toBe(true);
  });

  it('makes assertHeld report an uncertain lease, never a lost one, while it lives', async () => {
    const lease = await holdfast.mutex('k').acquire();
    step();
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ code: 'HOLDFAST_UNCERTAIN' }),
    );
    await lease.verify();
    lease.assertHeld();
  });

  it('does not confirm a lease that ended meanwhile', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await forceInStore();
    step();
    expect(lease.held).toBe(false);
    expect(await after(0, lease.verify())).toBe(false);
    expect([lease.state, lease.signal.aborted]).toEqual(['lost', true]);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'HOLDFAST_LOST' }));
  });

  describe.each([1, 3])('beside a copy of the request (leases: %i)', (count) => {
    /** Leases whose first requests had no answer: copies may arrive at any time. */
    async function leases(): Promise<Lease[]> {
      store.ail('acquire', 'lost');
      const asked = Promise.all(
        Array.from({ length: count }, (_, index) => holdfast.mutex(`k${index}`).acquire()),
      );
      await clock.advance(500);
      store.heal();
      return clock.until(asked);
    }

    it('does not confirm a lease that the copy took anew after its end', async () => {
      const all = await leases();
      const ended = store.seen('acquire').filter(({ key }) => key === 'k0');
      await Promise.all(
        store.inner.execute([{ op: 'forceRelease', key: 'k0', id: '', retention: 9000 }]),
      );
      step();
      await Promise.all(store.inner.execute(ended.slice(-1)));
      // the suspend is noticed, and the store is asked
      expect(all.some(({ held }) => held)).toBe(false);
      await clock.advance(500);
      expect(all.map(({ state }) => state)).toEqual(['lost', 'held', 'held'].slice(0, count));
      // no task has the lease of the copy: it was released
      expect((await holdfast.inspect('k0'))?.holders ?? []).toEqual([]);
    });

    it('goes on with a lease that did not end', async () => {
      const all = await leases();
      step();
      await Promise.all(store.inner.execute(store.seen('acquire')));
      expect(all.some(({ held }) => held)).toBe(false);
      await clock.advance(60_000);
      expect(all.map(({ held }) => held)).toEqual(all.map(() => true));
      const [first] = all as [Lease];
      step();
      const left = await clock.until(first.extend(5000));
      expect(left).toBeGreaterThanOrEqual(5000);
    });
  });

  it('no longer matters for a lease that is released while in doubt', async () => {
    const lease = await holdfast.mutex('k').acquire();
    step();
    store.ail('poll', 'lost');
    const verified = after(0, lease.verify());
    expect(await lease.release()).toBe('freed');
    expect(await verified).toBe(false);
    expect(lease.state).toBe('released');
  });

  it.each([
    ['in doubt may have ended before', 'lost', step],
    ['not in doubt was ended by the first attempt', 'freed', (): void => undefined],
  ] as const)('a lease %s: released with two attempts, it was %s', async (_, outcome, jump) => {
    const lease = await holdfast.mutex('k').acquire();
    jump();
    // the lease has ended in the store, and the first attempt is lost
    await forceInStore();
    store.ail('poll', 'lost');
    store.ail('release', 'lost');
    const released = after(3000, lease.release());
    await clock.advance(500);
    store.heal();
    expect(await released).toBe(outcome);
  });

  it('delays changes of a read-write lease', async () => {
    const lease = await holdfast.rwLock('k').write.acquire();
    step();
    expect(await after(0, lease.downgrade())).toBe(undefined);
    step();
    expect(await after(0, lease.tryUpgrade())).toBe(true);
  });

  it('delays signals and waits at a condition', async () => {
    const mutex = holdfast.mutex('k');
    const lease = await mutex.acquire();
    step();
    expect(await after(0, mutex.condition('c').signal(lease))).toBe(0);
    step();
    expect(await after(50, mutex.condition('c').await(lease, { wait: 10 }))).toBe(false);
    expect(lease.held).toBe(true);
  });
});

describe('re-entry in doubt', () => {
  it('waits for the verification, and not for its own lease', async () => {
    const mutex = holdfast.mutex('k', { reentrant: true });
    const run = mutex.run(async (outer) => {
      step();
      return mutex.run((inner) => inner === outer);
    });
    expect(await after(100, run)).toBe(true);
    expect(store.seen('acquire')).toHaveLength(1);
  });

  it('acquires the lock anew if the lease is lost', async () => {
    const mutex = holdfast.mutex('k', { reentrant: true });
    const fences: number[] = [];
    const run = mutex.run(async (outer) => {
      fences.push(outer.fence);
      await forceInStore();
      step();
      await mutex.run((inner) => void fences.push(inner.fence));
    });
    expect(await after(100, run)).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(fences[1]).toBeGreaterThan(fences[0] as number);
  });

  it('works for locked methods, although their lease is uncertain meanwhile', async () => {
    const seen: unknown[] = [];
    class Orders {
      async outer(): Promise<void> {
        step();
        try {
          assertLocked('k');
        } catch (error) {
          seen.push((error as { code: string }).code);
        }
        await this.inner();
      }
      async inner(): Promise<void> {
        seen.push(assertLocked('k').held);
      }
    }
    const decorate = locked(holdfast, 'k', { reentrant: true });
    for (const name of ['outer', 'inner'] as const) {
      const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, name);
      const of = descriptor as TypedPropertyDescriptor<() => Promise<void>>;
      Object.defineProperty(Orders.prototype, name, decorate(Orders.prototype, name, of));
    }
    expect(await after(100, new Orders().outer())).toBe(undefined);
    expect(seen).toEqual(['HOLDFAST_UNCERTAIN', true]);
  });
});

describe('a term in doubt', () => {
  it('is verified, and remains the same term', async () => {
    const leadership = await holdfast.election('k').campaign();
    step();
    expect([leadership.leads, leadership.signal.aborted]).toEqual([false, false]);
    expect(await after(0, leadership.verify())).toBe(true);
    expect(leadership.leads).toBe(true);
    await leadership.resign();
    expect(await leadership.verify()).toBe(false);
  });

  it('is not resigned by work that ends in doubt, which continues in the same term', async () => {
    const stop = new AbortController();
    const terms: [term: number, steps: number][] = [];
    const work = async (leadership: Leadership): Promise<void> => {
      let steps = 0;
      for (; leadership.leads && !stop.signal.aborted; steps++) {
        if (steps === 3 && terms.length === 0) step();
        await new Promise<void>((resolve) => clock.after(100, resolve));
      }
      terms.push([leadership.term, steps]);
    };
    const led = holdfast.election('k').lead(work, { signal: stop.signal });
    await clock.advance(2000);
    stop.abort();
    await after(200, led);
    expect(terms).toHaveLength(2);
    expect(terms[1]?.[0]).toBe(terms[0]?.[0]);
    expect(store.seen('release')).toHaveLength(1);
  });

  it('is resigned by work that ends by itself after a doubt', async () => {
    const stop = new AbortController();
    const terms: number[] = [];
    const work = async (leadership: Leadership): Promise<void> => {
      terms.push(leadership.term);
      if (terms.length > 1) return;
      step();
      expect(leadership.leads).toBe(false);
      await leadership.verify();
      expect(leadership.leads).toBe(true);
    };
    const led = holdfast.election('k').lead(work, { signal: stop.signal });
    await clock.advance(150);
    stop.abort();
    await after(200, led);
    expect(new Set(terms).size).toBe(2);
    expect(terms).toHaveLength(2);
  });
});

describe('a failed verification', () => {
  const lives = async (lease: Lease): Promise<void> => {
    step();
    expect(lease.held).toBe(false);
    await clock.advance(2500);
    store.heal();
    await clock.advance(1500);
    expect([lease.held, lease.signal.aborted]).toEqual([true, false]);
  };

  it.each(['lost', 'failed'] as const)(
    '(%s) is repeated for a lease without renewal',
    async (fate) => {
      const lease = await holdfast.mutex('k').acquire({ renew: false });
      store.ail('poll', fate);
      await lives(lease);
      expect(store.seen('poll').length).toBeLessThan(30);
      await clock.advance(9000);
      expect(lease.state).toBe('lost');
    },
  );

  it.each(['lost', 'failed'] as const)(
    '(%s) is repeated for a lease with renewal',
    async (fate) => {
      const lease = await holdfast.mutex('k').acquire({ ttl: 3_600_000 });
      store.ail('poll', fate);
      await lives(lease);
    },
  );

  it('ends at the deadline: the lease is lost', async () => {
    const lease = await holdfast.mutex('k').acquire({ renew: false });
    store.ail('poll', 'failed');
    step();
    const verified = lease.verify();
    expect(await after(9000, verified)).toBe(false);
    expect([lease.state, lease.signal.aborted]).toEqual(['lost', true]);
  });
});
