/** A read-write lease that is upgraded and downgraded while replies are lost. */
import { describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

function setUp(): { clock: VirtualClock; store: WatchedStore; holdfast: Holdfast } {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  return { clock, store, holdfast: new Holdfast(store, { clock, ttl: 60_000 }) };
}

describe('without a reply', () => {
  it.each(['answer lost', 'lost'] as const)(
    'an upgrade does not count, and a downgrade undoes it (%s)',
    async (fate) => {
      const { clock, store, holdfast } = setUp();
      const lease = await holdfast.rwLock('k').read.acquire();
      store.ail('resize', fate);
      const upgrading = later(lease.tryUpgrade());
      await settle();
      await clock.advance(3000);
      await failure(upgrading, 'HOLDFAST_UNCERTAIN');
      expect(lease).toMatchObject({ mode: 'read', held: true });
      store.heal();
      await lease.downgrade();
      expect(lease.mode).toBe('read');
      expect((await holdfast.inspect('k'))?.used).toBe(1);
    },
  );

  it('a repeated upgrade learns the result of the first', async () => {
    const { clock, store, holdfast } = setUp();
    const lease = await holdfast.rwLock('k').read.acquire();
    const { fence } = lease;
    store.ail('resize', 'answer lost');
    const upgrading = later(lease.tryUpgrade());
    await settle();
    await clock.advance(3000);
    await failure(upgrading, 'HOLDFAST_UNCERTAIN');
    store.heal();
    expect(await lease.tryUpgrade()).toBe(true);
    expect(lease.fence).toBeGreaterThan(fence);
    expect((await holdfast.inspect('k'))?.fence).toBe(lease.fence);
  });

  it('a downgrade counts from the call on, and an upgrade is possible without it', async () => {
    const { clock, store, holdfast } = setUp();
    const lease = await holdfast.rwLock('k').write.acquire();
    store.ail('resize', 'lost');
    const downgrading = later(lease.downgrade());
    await settle();
    expect(lease.mode).toBe('read');
    await clock.advance(3000);
    await failure(downgrading, 'HOLDFAST_UNCERTAIN');
    store.heal();
    expect(await lease.tryUpgrade()).toBe(true);
    expect(store.seen('resize').map(({ weight }) => weight === 1)).toEqual([true, false]);
  });
});

describe('a late duplicate', () => {
  /** The store receives the last change of a weight once more. */
  async function repeat(store: WatchedStore): Promise<void> {
    await store.inner.execute(store.seen('resize').slice(-1))[0];
  }

  it('of a refused downgrade lets no reader in beside the writer', async () => {
    const { store, holdfast } = setUp();
    const lock = holdfast.rwLock('k', { sharedBy: 'me' });
    const first = await lock.write.acquire();
    const second = await lock.write.acquire();
    await failure(first.downgrade(), 'HOLDFAST_REFUSED');
    await second.release();
    await repeat(store);
    expect(first).toMatchObject({ mode: 'write', held: true });
    expect(await holdfast.rwLock('k').read.tryAcquire()).toBeNull();
    await first.downgrade();
    expect(await holdfast.rwLock('k').read.tryAcquire()).not.toBeNull();
  });

  it('of a refused upgrade keeps no reader out', async () => {
    const { store, holdfast } = setUp();
    const { read } = holdfast.rwLock('k');
    const [first, second] = [await read.acquire(), await read.acquire()];
    expect(await first.tryUpgrade()).toBe(false);
    await second.release();
    await repeat(store);
    expect(first.mode).toBe('read');
    expect(await read.tryAcquire()).not.toBeNull();
  });

  it('of a downgrade before an upgrade lets no reader in', async () => {
    const { store, holdfast } = setUp();
    const { read, write } = holdfast.rwLock('k');
    const lease = await write.acquire();
    await lease.downgrade();
    const [downgrade] = store.seen('resize');
    expect(await lease.tryUpgrade()).toBe(true);
    await store.inner.execute(downgrade === undefined ? [] : [downgrade])[0];
    expect(await read.tryAcquire()).toBeNull();
  });
});
