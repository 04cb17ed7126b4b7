/** The methods of a lease, with a virtual clock. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease, type ReleaseOutcome } from '../../../src/index.js';
import { drift } from '../../../src/lease/local-time.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock, ttl: 9000, requestTimeout: 1000 });
});

const acquire = (): Promise<Lease> => holdfast.mutex('k').acquire();

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

describe('ensure', () => {
  it('sends no request if the lease lasts long enough', async () => {
    const lease = await acquire();
    expect(await lease.ensure(5000)).toBe(9000 - drift(9000));
    expect(store.seen('renew')).toEqual([]);
  });

  it('extends the lease if it does not', async () => {
    const lease = await acquire();
    expect(await lease.ensure(20_000)).toBeGreaterThanOrEqual(20_000);
    expect(lease.remaining).toBeGreaterThanOrEqual(20_000);
  });

  it('rejects at once if the lease is lost', async () => {
    const lease = await acquire();
    clock.stall(9000);
    await expect(lease.ensure(0)).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  });
});

describe('extend', () => {
  it('never shortens the lease', async () => {
    const lease = await acquire();
    expect(await lease.extend(10)).toBe(9000 - drift(9000));
  });

  it('distinguishes a missing reply from a loss', async () => {
    const lease = await acquire();
    store.ail('renew', 'lost');
    const error = await after(1000, lease.extend(20_000));
    expect(error).toMatchObject({ code: 'HOLDFAST_UNCERTAIN', key: 'k' });
    expect(lease.held).toBe(true);
    store.heal();
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1 }]),
    );
    await expect(lease.extend(20_000)).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(lease.signal.aborted).toBe(true);
  });

  it('does not exceed maxHold', async () => {
    const lease = await holdfast.mutex('k').acquire({ maxHold: 10_000 });
    const error = { code: 'HOLDFAST_BAD_OPTION', option: 'ms' };
    await expect(lease.extend(10_001)).rejects.toMatchObject(error);
    expect(await lease.extend(9900)).toBeGreaterThanOrEqual(9900);
  });

  it('does not restore a released lease, also if it was under way (I8)', async () => {
    const lease = await acquire();
    store.ail('renew', 500);
    const extended = after(500, lease.extend(20_000));
    await lease.release();
    expect(await extended).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(lease.held).toBe(false);
    await expect(lease.extend(20_000)).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  });
});

describe('release', () => {
  it('frees the lock once, and returns the same result however often it is called', async () => {
    const lease = await acquire();
    const { signal } = lease;
    expect(await Promise.all([lease.release(), lease.release()])).toEqual(['freed', 'freed']);
    expect(await lease.release()).toBe('freed');
    expect(store.seen('release')).toHaveLength(1);
    expect([lease.held, lease.remaining, signal.aborted]).toEqual([false, 0, false]);
  });

  it('never touches a newer lease of the key', async () => {
    const first = await acquire();
    clock.stall(9500);
    const second = await holdfast.mutex('k').acquire();
    expect(await first.release()).toBe('lost');
    await clock.advance(1000);
    expect(second.held).toBe(true);
    expect(await second.release()).toBe('freed');
  });

  it('of one of several holds keeps the others', async () => {
    const mutex = holdfast.mutex('k', { sharedBy: 'me' });
    const [outer, inner] = [await mutex.acquire(), await mutex.acquire()];
    expect([outer.fence, outer.holds, inner.holds]).toEqual([inner.fence, 2, 2]);
    expect(await inner.release()).toBe('kept');
    expect(await outer.release()).toBe('freed');
  });

  it('is repeated if its reply is lost, and still reports that it freed the lock', async () => {
    const lease = await acquire();
    store.ail('release', 'answer lost');
    const released = after(1010, lease.release());
    expect(await released).toBe('pending');
    store.heal();
    let outcome: ReleaseOutcome | undefined;
    void lease.release().then((what) => {
      outcome = what;
    });
    await clock.advance(100);
    expect(outcome).toBe('freed');
    expect(store.seen('release')).toHaveLength(2);
  });

  it('is uncertain without any reply, and is retried until the lease has ended', async () => {
    const lease = await acquire();
    store.ail('release', 'lost');
    expect(await after(2100, lease.release())).toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
    const tries = store.seen('release').length;
    await clock.advance(2000);
    expect(store.seen('release').length).toBeGreaterThan(tries);
    store.heal();
    await clock.advance(2000);
    expect(await holdfast.mutex('k').tryAcquire()).not.toBeNull();
  });

  it('stops retrying when the lease has ended (I9)', async () => {
    const lease = await acquire();
    store.ail('release', 'lost');
    await after(20_000, lease.release());
    const tries = store.seen('release').length;
    await clock.advance(60_000);
    expect(store.seen('release')).toHaveLength(tries);
    expect(clock.timers()).toBe(0);
  });

  it('runs at the end of the block that holds the lease', async () => {
    {
      await using lease = await acquire();
      expect(lease.held).toBe(true);
    }
    expect(store.seen('release')).toHaveLength(1);
  });

  it('of a lost lease is not an error at the end of a block', async () => {
    {
      await using lease = await acquire();
      clock.stall(9000);
      expect(lease.held).toBe(false);
    }
    await clock.advance(100);
    expect(clock.timers('strong')).toBe(0);
  });
});

describe('signal', () => {
  it('is always the same object', async () => {
    const lease = await acquire();
    const { signal } = lease;
    expect(lease.signal).toBe(signal);
    clock.stall(9000);
    expect(lease.signal).toBe(signal);
    expect(signal.aborted).toBe(true);
  });

  it('is aborted on the first access after the loss', async () => {
    const lease = await acquire();
    store.ail('renew', 'lost');
    await clock.advance(9000);
    expect(lease.signal.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
  });

  it('aborts at once if the lease is released by force and pushes arrive', async () => {
    const other = new Holdfast(store, { clock, ttl: 9000 });
    const holder = await acquire();
    const waiting = other.mutex('k').acquire();
    await clock.advance(10);
    await holder.release();
    const lease = await waiting;
    const { signal } = lease;
    expect((await holdfast.forceRelease('k')).ended).toBe(1);
    await clock.advance(0);
    expect(signal.reason).toMatchObject({ message: expect.stringContaining('by force') });
  });
});

it('a lease has its key, id and owner', async () => {
  const lease = await acquire();
  expect(lease).toMatchObject({ key: 'k', holds: 1, held: true });
  expect(lease.id).toMatch(/^\S+$/);
  expect(Number.isSafeInteger(lease.fence)).toBe(true);
  expect(() => lease.assertHeld()).not.toThrow();
  await lease.release();
  expect(() => lease.assertHeld()).toThrow(/was released/);
});
