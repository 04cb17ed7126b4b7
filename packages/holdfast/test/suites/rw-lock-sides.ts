/** A lease of a read-write lock that is upgraded or downgraded. */
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued } from './helpers.js';

const NO_POLL = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

export function rwLockSides(backend: Backend): void {
  downgrading(backend);
  upgrading(backend);
  owning(backend);
}

function downgrading(backend: Backend): void {
  it('a writer that downgrades admits the waiting readers', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const writer = await one.rwLock(key).write.acquire();
    const { fence } = writer;
    const reading = [other, one].map((each) => later(each.rwLock(key).read.acquire()));
    await queued(one, key, 2);
    const writing = later(other.rwLock(key).write.acquire());
    await queued(one, key, 3);
    await writer.downgrade();
    expect(writer).toMatchObject({ mode: 'read', fence, held: true });
    const readers = await Promise.all(reading);
    expect((await one.inspect(key))?.waiterCount).toBe(1);
    await writer.downgrade();
    await Promise.all([writer, ...readers].map((lease) => lease.release()));
    expect((await writing).mode).toBe('write');
  });

  it('the end of the work releases the lease, in either mode', async () => {
    const holdfast = await backend.make(NO_POLL);
    const lock = holdfast.rwLock(freshKey());
    await lock.write.run(async (lease) => {
      await lease.downgrade();
      await (await lock.read.acquire()).release();
    });
    await lock.read.run(async (lease) => {
      expect(await lease.tryUpgrade()).toBe(true);
    });
    expect(await holdfast.inspect(lock.key)).toBeNull();
  });

  it('a released or lost lease cannot be upgraded or downgraded', async () => {
    const holdfast = await backend.make(NO_POLL);
    const lock = holdfast.rwLock(freshKey());
    const lease = await lock.write.acquire();
    await lease.release();
    await failure(lease.downgrade(), 'HOLDFAST_LOST');
    await failure(lease.tryUpgrade(), 'HOLDFAST_LOST');
    const forced = await lock.write.acquire();
    await (await backend.make()).forceRelease(lock.key);
    await failure(forced.downgrade(), 'HOLDFAST_LOST');
    expect(forced.held).toBe(false);
    expect(forced.signal.aborted).toBe(true);
  });
}

function upgrading(backend: Backend): void {
  it('the only reader upgrades to a writer, with a new fence', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lease = await one.rwLock(key).read.acquire();
    const { fence } = lease;
    const [first, second] = await Promise.all([lease.tryUpgrade(), lease.tryUpgrade()]);
    expect([first, second, lease.mode]).toEqual([true, true, 'write']);
    expect(lease.fence).toBeGreaterThan(fence);
    expect((await other.inspect(key))?.fence).toBe(lease.fence);
    expect(await other.rwLock(key).read.tryAcquire()).toBeNull();
    await lease.downgrade();
    const reader = await other.rwLock(key).read.tryAcquire();
    expect(reader?.fence).toBeGreaterThan(lease.fence);
    expect([await lease.release(), await reader?.release()]).toEqual(['freed', 'freed']);
  });

  it('one of several readers cannot upgrade, and stays a reader', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lease = await one.rwLock(key).read.acquire();
    const { fence } = lease;
    const reader = await other.rwLock(key).read.acquire();
    const both = await Promise.all([lease.tryUpgrade(), reader.tryUpgrade()]);
    expect(both).toEqual([false, false]);
    expect(lease).toMatchObject({ mode: 'read', fence, held: true });
    await reader.release();
    expect(await lease.tryUpgrade()).toBe(true);
    await lease.release();
  });

  it('an upgrade goes before waiting writers', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lease = await one.rwLock(key).read.acquire();
    const writing = later(other.rwLock(key).write.acquire());
    await queued(one, key, 1);
    expect(await lease.tryUpgrade()).toBe(true);
    await lease.release();
    expect((await writing).fence).toBeGreaterThan(lease.fence);
  });
}

function owning(backend: Backend): void {
  it('an owner that reads is refused the write lock, and the error says why', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const owner = 'me';
    await using lease = await one.rwLock(key, { sharedBy: owner }).read.acquire();
    const error = await failure(
      other.rwLock(key, { sharedBy: owner }).write.acquire(),
      'HOLDFAST_REFUSED',
    );
    expect(error.message).toContain('its sharedBy holds the read lock already');
    await failure(other.rwLock(key, { sharedBy: owner }).write.tryAcquire(), 'HOLDFAST_REFUSED');
    expect(lease).toMatchObject({ mode: 'read', held: true });
    expect(await one.inspect(key)).toMatchObject({ used: 1, waiterCount: 0 });
  });

  it('an owner that waits for both locks is refused the write lock once it reads', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lock = other.rwLock(key, { sharedBy: 'me' });
    const writer = await one.rwLock(key).write.acquire();
    const reading = later(lock.read.acquire());
    await queued(one, key, 1);
    // a waiter polls once in its ttl
    const writing = later(lock.write.acquire({ ttl: 200 }));
    const next = later(one.rwLock(key).read.acquire());
    await queued(one, key, 3);
    await writer.release();
    await using _reader = await reading;
    await using _next = await next;
    await failure(writing, 'HOLDFAST_REFUSED');
    expect((await one.inspect(key))?.waiterCount).toBe(0);
  });

  it('an owner that writes may read as well, and is a reader once it stops writing', async () => {
    const holdfast = await backend.make(NO_POLL);
    const lock = holdfast.rwLock(freshKey(), { sharedBy: 'me' });
    const writer = await lock.write.acquire();
    const reader = await lock.read.acquire();
    expect(reader).toMatchObject({ holds: 2, fence: writer.fence, mode: 'read' });
    const error = await failure(writer.downgrade(), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('more than one hold');
    expect(writer.mode).toBe('write');
    await reader.downgrade();
    const others = holdfast.rwLock(lock.key);
    expect(await others.read.tryAcquire()).toBeNull();
    const waiting = others.read.acquire();
    await queued(holdfast, lock.key, 1);
    expect(await writer.release()).toBe('kept');
    const other = await waiting;
    expect(other.fence).toBeGreaterThan(reader.fence);
    expect(await others.write.tryAcquire()).toBeNull();
    expect(await reader.tryUpgrade()).toBe(false);
    expect(await other.release()).toBe('freed');
    expect(await reader.tryUpgrade()).toBe(true);
    expect(await reader.release()).toBe('freed');
  });
}
