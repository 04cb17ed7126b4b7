/** Calls with key and owner and no lease object, on any backend. */
import { describe, expect, it } from 'vitest';
import type { OwnerLocks } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued, turn, unused } from './helpers.js';

const LONG = 60_000;

export function ownerLocksSuite(backend: Backend): void {
  describe('lock and unlock', () => locking(backend));
  describe('limits', () => limits(backend));
  describe('waiting', () => waiting(backend));
  describe('renew', () => renewing(backend));
  describe('from any process', () => anywhere(backend));
  describe('many at once', () => manyAtOnce(backend));
}

function locking(backend: Backend): void {
  it('admits the owner any number of times, and no other owner', async () => {
    const { ownerLocks } = await backend.make();
    const key = freshKey();
    const fence = await ownerLocks.lock(key, 'me', LONG);
    expect(Number.isSafeInteger(fence)).toBe(true);
    expect(await ownerLocks.tryLock(key, 'me', LONG)).toBe(fence);
    expect(await ownerLocks.tryLock(key, 'you', LONG)).toBeNull();
    expect([await ownerLocks.holds(key, 'me'), await ownerLocks.holds(key, 'you')]).toEqual([2, 0]);
  });

  it('frees the lock after as many unlocks as locks', async () => {
    const { ownerLocks } = await backend.make();
    const key = freshKey();
    const fence = await ownerLocks.lock(key, 'me', LONG);
    await ownerLocks.lock(key, 'me', LONG);
    expect(await ownerLocks.unlock(key, 'me')).toBe(true);
    expect(await ownerLocks.tryLock(key, 'you', LONG)).toBeNull();
    expect(await ownerLocks.unlock(key, 'me')).toBe(true);
    expect(await ownerLocks.unlock(key, 'me')).toBe(false);
    expect(await ownerLocks.tryLock(key, 'you', LONG)).toBeGreaterThan(fence);
  });

  it('refuses an unlock by another owner', async () => {
    const { ownerLocks } = await backend.make();
    const key = freshKey();
    expect(await ownerLocks.unlock(key, 'me')).toBe(false);
    await ownerLocks.lock(key, 'me', LONG);
    expect(await ownerLocks.unlock(key, 'you')).toBe(false);
    expect(await ownerLocks.holds(key, 'me')).toBe(1);
  });

  it('is the mutex of the key', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    await holdfast.ownerLocks.lock(key, 'me', LONG, { label: 'ported' });
    expect(await holdfast.mutex(key).tryAcquire()).toBeNull();
    expect((await holdfast.inspect(key))?.holders[0]).toMatchObject({ sharedBy: 'me', holds: 1 });
    const joined = await holdfast.mutex(key, { sharedBy: 'me' }).tryAcquire();
    expect(joined?.holds).toBe(2);
    expect(await joined?.release()).toBe('kept');
    await holdfast.ownerLocks.unlock(key, 'me');
    const lease = await holdfast.mutex(key).acquire();
    expect(await holdfast.ownerLocks.tryLock(key, 'me', LONG)).toBeNull();
    await lease.release();
  });
}

function limits(backend: Backend): void {
  it('ends at its expiry, and a later unlock has no effect on other owners', async () => {
    const { ownerLocks } = await backend.make();
    const key = freshKey();
    const fence = await ownerLocks.lock(key, 'me', 50);
    // the lock is not renewed, so the wait ends at its expiry
    expect(await ownerLocks.lock(key, 'you', LONG)).toBeGreaterThan(fence);
    expect(await ownerLocks.unlock(key, 'me')).toBe(false);
    expect(await ownerLocks.holds(key, 'you')).toBe(1);
  });

  it('refuses invalid keys and options, and sends no request', async () => {
    const holdfast = await backend.make();
    const { ownerLocks } = holdfast;
    const key = freshKey();
    for (const expiry of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 9, '10', undefined]) {
      const wrong = expiry as number;
      const errors = [
        await failure(ownerLocks.lock(key, 'me', wrong), 'HOLDFAST_BAD_OPTION'),
        await failure(ownerLocks.renew(key, 'me', wrong), 'HOLDFAST_BAD_OPTION'),
      ];
      expect(errors.map(({ option }) => option)).toEqual(['ttl', 'ttl']);
    }
    await failure(ownerLocks.lock(key, '', LONG), 'HOLDFAST_BAD_OPTION');
    await failure(ownerLocks.unlock(key, ''), 'HOLDFAST_BAD_OPTION');
    await failure(ownerLocks.tryLock('', 'me', LONG), 'HOLDFAST_BAD_OPTION');
    await failure(ownerLocks.lock(key, 'me', LONG, { wait: -1 }), 'HOLDFAST_BAD_OPTION');
    expect(await holdfast.inspect(key)).toBeNull();
  });
}

function waiting(backend: Backend): void {
  it('is served in turn, and then lasts for the whole expiry', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const fence = await one.ownerLocks.lock(key, 'me', LONG);
    const locking = other.ownerLocks.lock(key, 'you', LONG);
    await queued(one, key, 1);
    await one.ownerLocks.unlock(key, 'me');
    expect(await locking).toBeGreaterThan(fence);
    // longer than the claim window that a waiter's lease begins with
    expect((await one.inspect(key))?.holders[0]?.remaining).toBeGreaterThan(LONG / 2);
  });

  it('ends at its limit and with the signal, and leaves no lease and no waiter', async () => {
    const holdfast = await backend.make();
    const { ownerLocks } = holdfast;
    const key = freshKey();
    await ownerLocks.lock(key, 'me', LONG);
    await failure(ownerLocks.lock(key, 'you', LONG, { wait: 20 }), 'HOLDFAST_TIMEOUT');
    expect(await ownerLocks.tryLock(key, 'you', LONG, { wait: 20 })).toBeNull();
    const stop = new AbortController();
    const waiting = later(ownerLocks.lock(key, 'you', LONG, { signal: stop.signal }));
    await queued(holdfast, key, 1);
    stop.abort('enough');
    expect((await failure(waiting, 'HOLDFAST_ABORTED')).cause).toBe('enough');
    await queued(holdfast, key, 0);
    await ownerLocks.unlock(key, 'me');
    await unused(holdfast, key);
  });
}

function renewing(backend: Backend): void {
  it('extends the lock, and never shortens it', async () => {
    const holdfast = await backend.make();
    const { ownerLocks } = holdfast;
    const key = freshKey();
    const remaining = async (): Promise<number> =>
      (await holdfast.inspect(key))?.holders[0]?.remaining ?? 0;
    await ownerLocks.lock(key, 'me', 20_000);
    expect(await ownerLocks.renew(key, 'me', LONG)).toBe(true);
    expect(await remaining()).toBeGreaterThan(LONG / 2);
    expect(await ownerLocks.renew(key, 'me', 20)).toBe(true);
    expect(await remaining()).toBeGreaterThan(LONG / 2);
    expect(await ownerLocks.holds(key, 'me')).toBe(1);
  });

  it('is refused to another owner, and revives no lock', async () => {
    const holdfast = await backend.make();
    const { ownerLocks } = holdfast;
    const key = freshKey();
    expect(await ownerLocks.renew(key, 'me', LONG)).toBe(false);
    await ownerLocks.lock(key, 'me', 60);
    expect(await ownerLocks.renew(key, 'you', LONG)).toBe(false);
    await unused(holdfast, key);
    expect(await ownerLocks.renew(key, 'me', LONG)).toBe(false);
    expect(await holdfast.inspect(key)).toBeNull();
  });
}

function anywhere(backend: Backend): void {
  it('unlocks and renews the lock of another instance, also of a closed one', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await one.ownerLocks.lock(key, 'me', 30_000);
    await other.ownerLocks.lock(key, 'me', 30_000);
    await one.close();
    expect(await other.ownerLocks.renew(key, 'me', LONG)).toBe(true);
    expect(await other.ownerLocks.holds(key, 'me')).toBe(2);
    expect(await other.ownerLocks.unlock(key, 'me')).toBe(true);
    expect(await other.ownerLocks.unlock(key, 'me')).toBe(true);
    expect(await other.inspect(key)).toBeNull();
  });

  it('releases the locks that it renews when it closes', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await one.ownerLocks.lock(key, 'me', LONG, { renew: true });
    await one.close({ grace: 0 });
    await unused(other, key);
  });
}

function manyAtOnce(backend: Backend): void {
  it('counts each lock and each unlock once, of two instances at the same time', async () => {
    const instances = [await backend.make(), await backend.make()];
    const key = freshKey();
    const each = <T>(call: (one: OwnerLocks) => Promise<T>): Promise<T[]> =>
      Promise.all(
        instances.flatMap((one) => Array.from({ length: 15 }, () => call(one.ownerLocks))),
      );
    const fences = await each((one) => one.lock(key, 'me', LONG));
    expect(new Set(fences).size).toBe(1);
    const { ownerLocks } = instances[0] as (typeof instances)[0];
    expect(await ownerLocks.holds(key, 'me')).toBe(30);
    expect(new Set(await each((one) => one.unlock(key, 'me')))).toEqual(new Set([true]));
    expect(await ownerLocks.holds(key, 'me')).toBe(0);
    expect(await ownerLocks.unlock(key, 'me')).toBe(false);
  });

  it('exclude each other when owners lock in turn', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    let inside = 0;
    const task = async (
      { ownerLocks }: { ownerLocks: OwnerLocks },
      owner: string,
    ): Promise<number> => {
      let most = 0;
      for (let round = 0; round < 5; round++) {
        await ownerLocks.lock(key, owner, LONG);
        await ownerLocks.lock(key, owner, LONG);
        inside += 1;
        most = Math.max(most, inside);
        await turn();
        inside -= 1;
        expect(await ownerLocks.unlock(key, owner)).toBe(true);
        expect(await ownerLocks.unlock(key, owner)).toBe(true);
      }
      return most;
    };
    const tasks = ['a', 'b', 'c'].flatMap((name) => [
      task(one, `1${name}`),
      task(other, `2${name}`),
    ]);
    expect(await Promise.all(tasks)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await one.inspect(key)).toBeNull();
  });
}
