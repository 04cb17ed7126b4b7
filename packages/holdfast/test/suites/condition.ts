/** The behaviour of conditions, on any backend. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Holdfast, Lease, Mutex } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, queued, unused } from './helpers.js';
import { conditionCancellation } from './condition-cancellation.js';
import { conditionLoad } from './condition-load.js';
import { waitForParked } from './condition-helpers.js';
import { conditionServerFaults } from './condition-server-faults.js';

export function conditionSuite(backend: Backend): void {
  describe('waiting', () => {
    waiting(backend);
    limits(backend);
    predicates(backend);
  });
  describe('signalling', () => {
    signalling(backend);
    refusals(backend);
  });
  describe('signalling by an owner', () => byAnOwner(backend));
  describe('the lease', () => theLease(backend));
  describe('cancellation', () => conditionCancellation(backend));
  describe('under load', () => conditionLoad(backend));
  if (backend.store === 'redis') describe('server faults', () => conditionServerFaults(backend));
}

function waiting(backend: Backend): void {
  it('releases the lock, and reacquires it when woken', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const condition = one.mutex(key).condition('c');
    const lease = await one.mutex(key).acquire();
    const waiting = condition.await(lease);
    await waitForParked(other, key, 1);
    expect(lease.held).toBe(false);
    expect(lease.remaining).toBe(0);
    const signaller = await other.mutex(key).acquire();
    expect(await other.mutex(key).condition('c').signal(signaller)).toBe(1);
    await queued(other, key, 1);
    expect(await signaller.release()).toBe('freed');
    expect(await waiting).toBe(true);
    expect(lease.held).toBe(true);
    expect((await other.inspect(key))?.holders[0]?.id).toBe(lease.id);
    expect(await lease.release()).toBe('freed');
    await unused(other, key);
  });

  it('shows each waiter and its condition', async () => {
    const holdfast = await backend.make({ label: 'consumer' });
    const mutex = holdfast.mutex(freshKey());
    const lease = await mutex.acquire();
    const waiting = later(mutex.condition('not empty').await(lease));
    const { parked, parkedCount } = await waitForParked(holdfast, mutex.key, 1);
    expect(parkedCount).toBe(1);
    expect(parked).toMatchObject([{ condition: 'not empty', label: 'consumer' }]);
    expect(parked[0]).toMatchObject({ pid: process.pid, waitedFor: expect.any(Number) });
    await lease.release();
    await failure(waiting, 'HOLDFAST_LOST');
    await unused(holdfast, mutex.key);
  });
}

function limits(backend: Backend): void {
  it('ends at the wait limit, and reacquires the lock first', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const next = other.mutex(mutex.key).acquire();
    await queued(one, mutex.key, 1);
    const waiting = mutex.condition('c').await(lease, { wait: 30 });
    const between = await next;
    await queued(other, mutex.key, 1);
    expect(between.fence).toBeGreaterThan(lease.fence);
    await between.release();
    expect(await waiting).toBe(false);
    expect(lease.held).toBe(true);
    expect(lease.fence).toBeGreaterThan(between.fence);
  });

  it('with a wait limit of 0 lets the next waiter in, and returns', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const next = other.mutex(mutex.key).acquire();
    await queued(one, mutex.key, 1);
    const waiting = mutex.condition('c').await(lease, { wait: 0 });
    expect((await next).held).toBe(true);
    await (await next).release();
    expect(await waiting).toBe(false);
    expect(lease.held).toBe(true);
  });
}

function predicates(backend: Backend): void {
  it('with a predicate checks it after each wake-up', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    let count = 0;
    let looked = 0;
    const waiting = mutex.run(async (lease) => {
      const enough = (): boolean => {
        looked += 1;
        expect(lease.held).toBe(true);
        return count >= 3;
      };
      return mutex.condition('c').awaitUntil(lease, enough);
    });
    for (let turn = 0; turn < 3; turn++) {
      await waitForParked(other, mutex.key, 1);
      await other.mutex(mutex.key).run(async (lease) => {
        count += 1;
        await other.mutex(mutex.key).condition('c').signal(lease);
      });
    }
    expect(await waiting).toBe(true);
    expect(looked).toBe(4);
    await unused(other, mutex.key);
  });

  it('with a predicate ends at the wait limit, after a last check', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const condition = mutex.condition('c');
    const lease = await mutex.acquire();
    let looked = 0;
    const never = (): boolean => {
      looked += 1;
      return false;
    };
    expect(await condition.awaitUntil(lease, never, { wait: 30 })).toBe(false);
    expect(looked).toBeGreaterThan(1);
    expect(lease.held).toBe(true);
    const own = new Error('own');
    const broken = (): never => {
      throw own;
    };
    await expect(condition.awaitUntil(lease, broken)).rejects.toBe(own);
    expect(lease.held).toBe(true);
  });
}

function signalling(backend: Backend): void {
  it('wakes no waiter if none waits', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const lease = await mutex.acquire();
    expect(await mutex.condition('c').signal(lease)).toBe(0);
    expect(await mutex.condition('c').signalAll(lease)).toBe(0);
  });

  it('wakes the waiters of its condition in the order of arrival', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const woken: string[] = [];
    const wait = async (name: string, condition: string, holdfast: Holdfast): Promise<void> => {
      const mutex = holdfast.mutex(key);
      await mutex.run(async (lease) => {
        expect(await mutex.condition(condition).await(lease)).toBe(true);
        woken.push(name);
      });
    };
    const ends: Promise<void>[] = [];
    const places = [
      ['a', 'full', one],
      ['b', 'empty', other],
      ['c', 'full', other],
      ['d', 'full', one],
    ] as const;
    for (const [index, [name, condition, holdfast]] of places.entries()) {
      ends.push(wait(name, condition, holdfast));
      await waitForParked(one, key, index + 1);
    }
    const mutex = other.mutex(key);
    await mutex.run((lease) => mutex.condition('full').signal(lease));
    await ends[0];
    expect(woken).toEqual(['a']);
    expect(await mutex.run((lease) => mutex.condition('full').signalAll(lease))).toBe(2);
    await Promise.all([ends[2], ends[3]]);
    expect(woken).toEqual(['a', 'c', 'd']);
    expect(await mutex.run((lease) => mutex.condition('empty').signalAll(lease))).toBe(1);
    await ends[1];
    await unused(one, key);
  });
}

function refusals(backend: Backend): void {
  it('requires the lease of the holder', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const condition = mutex.condition('c');
    const lease = await mutex.acquire();
    await lease.release();
    for (const call of calls(mutex, lease)) await failure(call(), 'HOLDFAST_LOST');
    await using elsewhere = await holdfast.mutex(freshKey()).acquire();
    for (const call of calls(mutex, elsewhere)) {
      expect((await failure(call(), 'HOLDFAST_BAD_OPTION')).option).toBe('lease');
    }
    await using own = await mutex.acquire();
    await failure(condition.await(own, { wait: -1 }), 'HOLDFAST_BAD_OPTION');
    await failure(condition.awaitUntil(own, 1 as never), 'HOLDFAST_BAD_OPTION');
    expect(() => mutex.condition('')).toThrow('option "name"');
    expect(own.held).toBe(true);
  });

  it('rejects with HOLDFAST_LOST when the lease was ended unnoticed', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    for (const index of [0, 1]) {
      const mutex = one.mutex(freshKey());
      const lease = await mutex.acquire();
      await other.forceRelease(mutex.key);
      await failure((calls(mutex, lease)[index] as () => Promise<unknown>)(), 'HOLDFAST_LOST');
      expect((await aborted(lease.signal)).code).toBe('HOLDFAST_LOST');
      expect(await lease.release()).toBe('lost');
      await unused(other, mutex.key);
    }
  });
}

/** Calls that wait and signal. */
function calls(mutex: Mutex, lease: Lease): (() => Promise<unknown>)[] {
  const condition = mutex.condition('c');
  return [() => condition.await(lease), () => condition.signal(lease)];
}

function byAnOwner(backend: Backend): void {
  it('wakes for each hold of an owner', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const waits = async (name: string): Promise<boolean> =>
      one.mutex(key).run((lease) => one.mutex(key).condition(name).await(lease));
    const ends = [later(waits('full')), later(waits('empty'))];
    await waitForParked(one, key, 2);
    const first = await one.mutex(key).acquire({ sharedBy: 'o' });
    const second = await other.mutex(key).acquire({ sharedBy: 'o' });
    expect(await one.mutex(key).condition('full').signal(first)).toBe(1);
    expect(await other.mutex(key).condition('empty').signal(second)).toBe(1);
    await first.release();
    await second.release();
    expect(await Promise.all(ends)).toEqual([true, true]);
  });
}

function theLease(backend: Backend): void {
  it('is the same object with the same signal, a new id and a greater fence', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { ttl: paced(600) });
    const lease = await mutex.acquire();
    const { fence, id, signal } = lease;
    expect(await mutex.condition('c').await(lease, { wait: 0 })).toBe(false);
    expect(lease.fence).toBeGreaterThan(fence);
    expect(lease.id).not.toBe(id);
    expect(lease.signal).toBe(signal);
    await holdfast.forceRelease(mutex.key);
    expect((await aborted(signal)).code).toBe('HOLDFAST_LOST');
  });

  it('is renewed after the return, and not during the wait', async () => {
    const holdfast = await backend.make({ ttl: paced(600) });
    const mutex = holdfast.mutex(freshKey());
    const lease = await mutex.acquire();
    expect(await mutex.condition('c').await(lease, { wait: paced(700) })).toBe(false);
    expect(await lease.ensure(1000)).toBeGreaterThan(0);
    expect(await lease.release()).toBe('freed');
  });

  it('cannot wait twice at the same time, nor be extended while it waits', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const lease = await mutex.acquire();
    const waiting = mutex.condition('c').await(lease, { wait: 60 });
    await failure(mutex.condition('c').await(lease), 'HOLDFAST_LOST');
    await failure(lease.extend(1000), 'HOLDFAST_LOST');
    expect(() => lease.assertHeld()).toThrow('given up at a condition');
    expect(await waiting).toBe(false);
    lease.assertHeld();
  });

  it('of an owner with two holds is refused, and stays held', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { sharedBy: 'o' });
    const first = await mutex.acquire();
    const second = await mutex.acquire();
    const error = await failure(mutex.condition('c').await(second), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('2 holds');
    expect(second.held).toBe(true);
    expect(await second.release()).toBe('kept');
    expect(await mutex.condition('c').await(first, { wait: 20 })).toBe(false);
    expect(await first.release()).toBe('freed');
  });

  it('is released by the outermost `run`', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { reentrant: true });
    await mutex.run(async (outer) => {
      await mutex.run((inner) => mutex.condition('c').await(inner, { wait: 0 }));
      expect(outer.held).toBe(true);
    });
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });
}
