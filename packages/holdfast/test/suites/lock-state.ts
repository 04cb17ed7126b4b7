/** Questions about locks, and waiting without taking. On any backend. */
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued } from './helpers.js';

export function mutexState(backend: Backend): void {
  it('says whether it is locked, and for how long', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const mutex = other.mutex(key);
    expect([await mutex.isLocked(), await mutex.timeLeft()]).toEqual([false, 0]);
    const lease = await one.mutex(key).acquire({ ttl: 20_000 });
    expect(await mutex.isLocked()).toBe(true);
    expect(await mutex.timeLeft()).toBeGreaterThan(10_000);
    await lease.release();
    expect(await mutex.isLocked()).toBe(false);
  });

  it('says how many acquisitions are served before that of the instance', async () => {
    const [one, two, three] = [await backend.make(), await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const places = (): Promise<unknown> =>
      Promise.all([one, two, three].map((each) => each.mutex(key).place()));
    expect(await places()).toEqual([null, null, null]);
    void later(two.mutex(key).acquire({ fair: true }));
    await queued(one, key, 1);
    void later(three.mutex(key).acquire({ fair: true }));
    await queued(one, key, 2);
    expect(await places()).toEqual([null, 0, 1]);
    await lease.release();
  });

  it('waits until it is free, without taking it', async () => {
    const quick = { claimWindow: 100 };
    const [one, other] = [await backend.make(quick), await backend.make(quick)];
    const key = freshKey();
    const mutex = other.mutex(key);
    expect(await mutex.whenFree()).toBe(true);
    const lease = await one.mutex(key).acquire();
    expect(await mutex.whenFree({ wait: 60 })).toBe(false);
    const waiting = mutex.whenFree();
    expect(await one.inspect(key)).toMatchObject({ waiterCount: 0 });
    const stop = new AbortController();
    const stopped = failure(mutex.whenFree({ signal: stop.signal }), 'HOLDFAST_ABORTED');
    stop.abort();
    await stopped;
    await lease.release();
    expect(await waiting).toBe(true);
    expect(await mutex.isLocked()).toBe(false);
    const held = await one.mutex(key).acquire();
    const closed = failure(mutex.whenFree(), 'HOLDFAST_CLOSED');
    await other.close();
    await closed;
    await held.release();
  });
}

export function refusingItself(backend: Backend): void {
  it("with reentrant: 'refuse' a run inside a run is refused, and does not wait", async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const mutex = one.mutex(key, { reentrant: 'refuse' });
    await mutex.run(async () => {
      const error = await failure(
        mutex.run(() => 1),
        'HOLDFAST_REFUSED',
      );
      expect(error.message).toContain('so it would wait for itself');
      // other code waits as usual
      expect(await other.mutex(key).tryAcquire()).toBeNull();
    });
    await mutex.run(async () => {
      await failure(mutex.acquire(), 'HOLDFAST_REFUSED');
      await failure(one.allOf([mutex, `${key}b`]).acquire(), 'HOLDFAST_REFUSED');
      // without a wait, an answer comes in any case
      expect(await mutex.tryAcquire()).toBeNull();
      expect(await one.allOf([mutex]).tryAcquire()).toBeNull();
    });
    expect(await mutex.run(() => mutex.key)).toBe(key);
    expect(await Promise.all([1, 2].map((at) => mutex.run(() => at)))).toEqual([1, 2]);
    expect(() => one.mutex(key, { reentrant: 'no' as never })).toThrow(/"reentrant"/);
  });
}

export function refusingParked(backend: Backend): void {
  it("with reentrant: 'refuse' a run may wait while the lease waits at a condition", async () => {
    const one = await backend.make();
    const mutex = one.mutex(freshKey(), { reentrant: 'refuse' });
    const order: string[] = [];
    await mutex.run(async (lease) => {
      const waiting = mutex.condition('c').await(lease);
      const other = mutex.run(async (inside) => {
        order.push('inside');
        await mutex.condition('c').signal(inside);
      });
      await Promise.all([waiting, other]);
      order.push('again');
      expect(lease.held).toBe(true);
    });
    expect(order).toEqual(['inside', 'again']);
  });
}

export function sideState(backend: Backend): void {
  it('says which side is locked', async () => {
    const holdfast = await backend.make();
    const lock = holdfast.rwLock(freshKey());
    const sides = (): Promise<unknown> =>
      Promise.all([lock.read.isLocked(), lock.write.isLocked(), lock.read.place()]);
    expect(await sides()).toEqual([false, false, null]);
    await lock.read.run(async () => expect(await sides()).toEqual([true, false, null]));
    await lock.write.run(async () => expect(await sides()).toEqual([false, true, null]));
    // a mutex and a reader have the same weight
    const held = await holdfast.mutex(freshKey()).acquire();
    expect(await holdfast.rwLock(held.key).read.isLocked()).toBe(false);
  });
}

export function permitState(backend: Backend): void {
  it('counts the free permits, and drains them', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const here = one.semaphore(key, { permits: 5 });
    const there = other.semaphore(key, { permits: 5 });
    expect(await there.available()).toBe(5);
    const two = await here.acquire(2);
    expect(await there.available()).toBe(3);
    const rest = await there.drain();
    expect([rest?.permits, await here.available()]).toEqual([3, 0]);
    expect(await here.drain()).toBeNull();
    await two?.release();
    const more = await here.drain();
    expect(more?.permits).toBe(2);
    await Promise.all([rest?.release(), more?.release()]);
  });

  it('releases a part of a lease to the next waiter', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.semaphore(key, { permits: 4 }).acquire(4);
    const waiting = other.semaphore(key, { permits: 4 }).acquire(2);
    await queued(one, key, 1);
    expect(await lease.releasePermits(1)).toBe(3);
    expect(await one.inspect(key)).toMatchObject({ used: 3, waiterCount: 1 });
    expect(await lease.releasePermits(1)).toBe(2);
    expect((await waiting).permits).toBe(2);
    await failure(lease.releasePermits(2), 'HOLDFAST_BAD_OPTION');
    await failure(lease.releasePermits(undefined as never), 'HOLDFAST_BAD_OPTION');
    expect([lease.permits, lease.held]).toEqual([2, true]);
    await one.forceRelease(key);
    await failure(lease.releasePermits(1), 'HOLDFAST_LOST');
    const name = freshKey();
    const shared = await one.semaphore(name, { permits: 4 }).acquire(3, { sharedBy: 'us' });
    const again = await one.semaphore(name, { permits: 4 }).acquire(3, { sharedBy: 'us' });
    await failure(shared.releasePermits(1), 'HOLDFAST_REFUSED');
    expect(shared.permits).toBe(3);
    await Promise.all([shared.release(), again.release()]);
  });
}

export function permitChanges(backend: Backend): void {
  it('changes the number relative to that of the store', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const here = one.semaphore(key, { permits: 2 });
    const there = other.semaphore(key, { permits: 2 });
    const lease = await here.acquire(2);
    expect(await here.changePermits(3)).toBe(5);
    // it has another number than the store
    expect(await there.changePermits(-1)).toBe(4);
    expect(await there.available()).toBe(2);
    await failure(there.changePermits(-4), 'HOLDFAST_BAD_OPTION');
    await Promise.all([1, 1, 1].map((by) => there.changePermits(by)));
    expect(await one.inspect(key)).toMatchObject({ permits: 7 });
    await lease?.release();
  });

  it('does not begin with the smaller number of a semaphore that is not in use', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await one.semaphore(key, { permits: 3 }).run(() => undefined);
    const there = other.semaphore(key, { permits: 8 });
    expect(await there.available()).toBe(8);
    expect(await there.changePermits(1)).toBe(9);
  });

  it('waits for more permits than exist, and then acquires them', async () => {
    const quick = { claimWindow: 100 };
    const [one, other] = [await backend.make(quick), await backend.make(quick)];
    const key = freshKey();
    const here = one.semaphore(key, { permits: 2 });
    const there = other.semaphore(key, { permits: 2 });
    const lease = await here.acquire(1);
    expect(await there.whenPermits(2)).toBe(true);
    expect(await there.whenPermits(4, { wait: 60 })).toBe(false);
    const waiting = there.whenPermits(4);
    await here.setPermits(5);
    expect(await waiting).toBe(true);
    const four = await there.acquire(4);
    expect([four?.permits, there.permits]).toEqual([4, 5]);
    await Promise.all([lease?.release(), four?.release()]);
  });
}
