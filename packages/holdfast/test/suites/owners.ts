/** Reentrancy: by owner, and by asynchronous context. On any backend. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued, renewedUntil, turn } from './helpers.js';

export function ownerSuite(backend: Backend): void {
  describe('an owner', () => owners(backend));
  describe('an owner, among others,', () => ownersAmongOthers(backend));
  describe('an owner, with other kinds of locks,', () => ownersOfKinds(backend));
  describe('a reentrant run', () => reentrantRuns(backend));
  describe('a reentrant run, beside others', () => strangers(backend));
}

function owners(backend: Backend): void {
  it('enters again, also from another instance, with the same fence', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const owner = 'batch 7';
    const first = await one.mutex(key, { sharedBy: owner }).acquire();
    const second = await one.mutex(key).acquire({ sharedBy: owner, wait: 0 });
    const third = await other.mutex(key).tryAcquire({ sharedBy: owner });
    const leases = [first, second, third] as Lease[];
    expect(leases.map(({ holds }) => holds)).toEqual([2, 2, 3]);
    expect(new Set(leases.map(({ fence }) => fence)).size).toBe(1);
    expect(new Set(leases.map(({ id }) => id)).size).toBe(3);
    const info = await other.inspect(key);
    expect(info?.holders).toHaveLength(1);
    expect(info?.holders[0]).toMatchObject({ sharedBy: owner, holds: 3 });
  });

  it('keeps the lock until the last of its holds is released, in any order', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const owner = 'batch 7';
    const first = await one.mutex(key, { sharedBy: owner }).acquire();
    const second = await other.mutex(key, { sharedBy: owner }).acquire();
    expect(await first.release()).toBe('kept');
    expect(await first.release()).toBe('kept');
    expect(second.held).toBe(true);
    expect(await one.mutex(key).tryAcquire()).toBeNull();
    expect((await one.inspect(key))?.holders[0]?.holds).toBe(1);
    expect(await second.release()).toBe('freed');
    expect((await one.mutex(key).tryAcquire())?.held).toBe(true);
  });

  it('is asked for with `sharedBy`: a name given as `owner` is refused', async () => {
    const holdfast = await backend.make();
    const call = (): unknown => holdfast.mutex(freshKey(), { owner: 'worker 1' } as object);
    expect(call).toThrow(/unknown option "owner"; did you mean "sharedBy"\?/u);
  });

  it('excludes other owners and acquisitions without an owner', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key, { sharedBy: 'one' }).acquire();
    expect(await holdfast.mutex(key, { sharedBy: 'two' }).tryAcquire()).toBeNull();
    expect(await holdfast.mutex(key).tryAcquire()).toBeNull();
    expect(await lease.release()).toBe('freed');
  });
}

function ownersAmongOthers(backend: Backend): void {
  it('has all its waiting tasks served at once', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const owner = 'two tasks';
    const stranger = await one.mutex(key).acquire();
    const first = one.mutex(key, { sharedBy: owner }).acquire();
    await queued(one, key, 1);
    const second = other.mutex(key, { sharedBy: owner }).acquire();
    await queued(one, key, 2);
    await stranger.release();
    const leases = await Promise.all([first, second]);
    expect(new Set(leases.map(({ fence }) => fence)).size).toBe(1);
    expect(leases.map(({ held }) => held)).toEqual([true, true]);
    const ends = [await leases[0].release(), await leases[1].release()];
    expect(ends).toEqual(['kept', 'freed']);
  });

  it('enters while others wait, and they are served after its last release', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const owner = 'insider';
    const first = await one.mutex(key, { sharedBy: owner }).acquire();
    const stranger = other.mutex(key).acquire();
    await queued(one, key, 1);
    const second = await one.mutex(key, { sharedBy: owner }).acquire({ wait: 0 });
    await first.release();
    expect((await other.inspect(key))?.waiterCount).toBe(1);
    await second.release();
    expect((await stranger).fence).toBeGreaterThan(first.fence);
  });

  it('keeps its lock as long as any remaining hold is renewed', async () => {
    const holdfast = await backend.make({ ttl: paced(2400) });
    const key = freshKey();
    const owner = 'long';
    const first = await holdfast.mutex(key, { sharedBy: owner }).acquire();
    const second = await holdfast.mutex(key, { sharedBy: owner }).acquire();
    await first.release();
    await renewedUntil(holdfast, key, paced(3000));
    expect(second.held).toBe(true);
    expect((await holdfast.inspect(key))?.holders[0]?.holds).toBe(1);
    expect(await second.release()).toBe('freed');
  });

  it('loses every hold when its lease is ended by force', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const owner = 'victim';
    const first = await one.mutex(key, { sharedBy: owner }).acquire();
    const second = await one.mutex(key, { sharedBy: owner }).acquire();
    expect((await other.forceRelease(key)).ended).toBe(1);
    const next = await other.mutex(key).acquire({ wait: 0 });
    expect(await first.release()).toBe('lost');
    expect(await second.release()).toBe('lost');
    expect((await one.inspect(key))?.holders[0]?.id).toBe(next.id);
  });
}

function ownersOfKinds(backend: Backend): void {
  it('does not join its own lease of another kind, or with another number of permits', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const [key, permits] = [freshKey(), freshKey()];
    const shared = { sharedBy: 'job' };
    const readers = [
      await one.rwLock(key).read.acquire(shared),
      await other.rwLock(key).read.acquire(),
    ];
    const some = await one.semaphore(permits, { permits: 3 }).acquire(2, shared);
    for (const call of [
      () => other.mutex(key).tryAcquire(shared),
      () => other.ownerLocks.tryLock(key, 'job', 5000),
      () => other.semaphore(key, { permits: 5 }).tryAcquire(1, shared),
      () => other.semaphore(permits, { permits: 5 }).tryAcquire(1, shared),
    ]) {
      await failure(call(), 'HOLDFAST_MISMATCH');
    }
    expect(await other.ownerLocks.unlock(key, 'job').catch(() => false)).toBe(false);
    for (const lease of [...readers, some]) expect(lease.held).toBe(true);
    for (const lease of [...readers, some]) await lease.release();
  });
}

function reentrantRuns(backend: Backend): void {
  it('enters again without a request, and releases when the outermost run ends', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { reentrant: true });
    const depth = await mutex.run(async (outer) => {
      const inner = await mutex.run(async (lease) => {
        expect(lease).toBe(outer);
        return mutex.run((innermost) => innermost);
      });
      expect(inner).toBe(outer);
      expect(outer.held).toBe(true);
      return 3;
    });
    expect(depth).toBe(3);
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('admits all tasks that it starts at the same time', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const mutex = holdfast.mutex(key, { reentrant: true });
    await mutex.run(async (outer) => {
      const inner = Array.from({ length: 10 }, () =>
        mutex.run(async (lease) => {
          await turn();
          return lease.fence;
        }),
      );
      expect(new Set(await Promise.all(inner))).toEqual(new Set([outer.fence]));
      expect((await holdfast.inspect(key))?.holders[0]?.holds).toBe(1);
    });
  });

  it('includes runs of another object with the same key, and no other key', async () => {
    const holdfast = await backend.make();
    const [key, other] = [freshKey(), freshKey()];
    const options = { reentrant: true };
    await holdfast.mutex(key, options).run(async (outer) => {
      await holdfast.mutex(key, options).run((lease) => expect(lease).toBe(outer));
      await holdfast.mutex(other, options).run(async (lease) => {
        expect(lease.key).toBe(other);
        await holdfast.mutex(key, options).run((again) => expect(again).toBe(outer));
      });
    });
  });
}

function strangers(backend: Backend): void {
  it('does not include work that continues after it has ended', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { reentrant: true });
    let resume = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let detached: Promise<Lease> | undefined;
    const ended = await mutex.run((lease) => {
      detached = gate.then(() => mutex.run((own) => own));
      return lease;
    });
    const between = await mutex.acquire();
    resume();
    await queued(holdfast, mutex.key, 1);
    await between.release();
    const own = (await detached) as Lease;
    expect(own).not.toBe(ended);
    expect(own.fence).toBeGreaterThan(between.fence);
  });

  it('excludes tasks that it did not start, and calls that are not reentrant', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const mutex = holdfast.mutex(key, { reentrant: true });
    await mutex.run(async () => {
      await failure(
        holdfast.mutex(key).run(() => 1, { wait: 20 }),
        'HOLDFAST_TIMEOUT',
      );
      expect(await mutex.tryAcquire()).toBeNull();
    });
    const lease = await mutex.acquire();
    await failure(later(mutex.run(() => 1, { wait: 20 })), 'HOLDFAST_TIMEOUT');
    await lease.release();
  });

  it('does not admit a run through another instance', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { reentrant: true };
    await one.mutex(key, options).run(async () => {
      const inner = other.mutex(key, options).run(() => 1, { wait: 20 });
      await failure(inner, 'HOLDFAST_TIMEOUT');
    });
  });
}
