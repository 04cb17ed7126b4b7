/** The behaviour of the semaphore, on any backend. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued, unused } from './helpers.js';
import { permitChanges, permitState } from './lock-state.js';
import { NO_POLL, WeightWatch } from './rw-lock.js';
import { adopting } from './semaphore-adopting.js';

export function semaphoreSuite(backend: Backend): void {
  describe('permits', () => {
    permitting(backend);
    checking(backend);
  });
  describe('order', () => ordering(backend));
  describe('state', () => {
    permitState(backend);
    permitChanges(backend);
  });
  describe('the number of permits', () => {
    agreeing(backend);
    shrinking(backend);
    adopting(backend);
  });
}

function permitting(backend: Backend): void {
  it('are taken in parts, and never more than there are', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const [here, there] = [one, other].map((each) => each.semaphore(key, { permits: 5 }));
    const two = await here?.acquire(2);
    const three = await there?.acquire(3);
    expect(await here?.tryAcquire()).toBeNull();
    expect(await one.inspect(key)).toMatchObject({ permits: 5, used: 5 });
    expect(await two?.release()).toBe('freed');
    expect(await there?.tryAcquire(3)).toBeNull();
    const last = await there?.tryAcquire(2);
    expect(last?.fence).toBeGreaterThan(three?.fence ?? Infinity);
    await Promise.all([three?.release(), last?.release()]);
    expect(await one.inspect(key)).toBeNull();
  });

  it('are not exceeded by many tasks with different counts', async () => {
    const key = freshKey();
    const inside = new WeightWatch();
    const task = async (holdfast: Holdfast, at: number): Promise<void> => {
      const semaphore = holdfast.semaphore(key, { permits: 5 });
      for (let round = 0; round < 4; round++) {
        const count = 1 + ((at + round) % 4);
        await semaphore.run(() => inside.visit(count), { permits: count });
      }
    };
    const instances = await Promise.all([backend.make(), backend.make(), backend.make()]);
    await Promise.all(instances.flatMap((one) => [0, 1, 2, 3].map((at) => task(one, at))));
    expect(inside.visits).toBe(48);
    expect(inside.most).toBeLessThanOrEqual(5);
    await unused(instances[0], key);
  });

  it('control: an excess is detected', async () => {
    const holdfast = await backend.make();
    const inside = new WeightWatch();
    const semaphore = holdfast.semaphore(freshKey(), { permits: 5 });
    const visit = (): Promise<void> => inside.visit(5);
    await Promise.all([semaphore.run(visit, { permits: 5 }), inside.visit(1), visit()]);
    expect(inside.most).toBeGreaterThan(5);
  });

  it("return when a holder's lease expires", async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await one.semaphore(key, { permits: 3, renew: false, ttl: paced(100) }).acquire(2);
    const all = await other.semaphore(key, { permits: 3 }).acquire(3, { wait: 30_000 });
    expect(await all.release()).toBe('freed');
  });
}

function checking(backend: Backend): void {
  it('are refused to an owner that holds fewer and would wait for itself', async () => {
    const holdfast = await backend.make(NO_POLL);
    const semaphore = holdfast.semaphore(freshKey(), { permits: 5, sharedBy: 'me' });
    await using _two = await semaphore.acquire(2);
    const error = await failure(semaphore.acquire(3), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('its sharedBy holds 2 permits of the requested 3 already');
    const one = await semaphore.acquire();
    expect(one.holds).toBe(2);
    expect(await one.release()).toBe('kept');
  });

  it.each([
    ['permits', { permits: 0 }],
    ['permits', { permits: 1.5 }],
    ['permits', { permits: 1_000_001 }],
    ['permits', {}],
    ['permits', undefined],
    ['ttl', { permits: 1, ttl: 1 }],
    ['permit', { permits: 1, permit: 1 }],
  ])('are refused if invalid: %s %j', async (option, options) => {
    const holdfast = await backend.make();
    const make = async (): Promise<unknown> => holdfast.semaphore('key', options as never);
    expect((await failure(make(), 'HOLDFAST_BAD_OPTION')).option).toBe(option);
  });

  it('must be a whole number, and no more than there are', async () => {
    const holdfast = await backend.make();
    const semaphore = holdfast.semaphore(freshKey(), { permits: 3 });
    for (const count of [0, 4, 1.5, Number.NaN, '1']) {
      const error = await failure(semaphore.acquire(count as number), 'HOLDFAST_BAD_OPTION');
      expect(error.option).toBe('permits');
    }
    await failure(semaphore.tryAcquire(4), 'HOLDFAST_BAD_OPTION');
    await failure(
      semaphore.run(() => 1, { permits: 4 }),
      'HOLDFAST_BAD_OPTION',
    );
    expect(await holdfast.inspect(semaphore.key)).toBeNull();
  });
}

function ordering(backend: Backend): void {
  it.each([
    [5, false],
    [5, true],
    [1, false],
  ])('of %i permits is that of arrival (fair: %s)', async (permits, fair) => {
    const all = await Promise.all([1, 2].map(() => backend.make(NO_POLL)));
    const key = freshKey();
    const first = await (all[0] as Holdfast).semaphore(key, { permits }).acquire();
    const counts = [permits, 1, Math.min(3, permits), 1, permits, 1];
    const waiting: Promise<number>[] = [];
    for (const [at, count] of counts.entries()) {
      // adjacent waiters are of one instance, which could hand a lease on among them
      const semaphore = (all[at < 3 ? 0 : 1] as Holdfast).semaphore(key, { permits, fair });
      waiting.push(semaphore.run(({ fence }) => fence, { permits: count }));
      await queued(all[0] as Holdfast, key, at + 1);
    }
    // four of five permits are free, but no acquisition overtakes the large request at the head
    expect(await (all[1] as Holdfast).semaphore(key, { permits }).tryAcquire()).toBeNull();
    await first.release();
    const fences = await Promise.all(waiting);
    expect([...fences].sort((a, b) => a - b)).toEqual(fences);
    expect((await all[0]?.inspect(key))?.waiterCount ?? 0).toBe(0);
  });

  it('lets no stream of small requests starve a large one', async () => {
    const all = await Promise.all([backend.make(NO_POLL), backend.make(NO_POLL)]);
    const key = freshKey();
    const options = { permits: 4 };
    const holders = await Promise.all(
      [1, 2, 3].map(() => all[0]?.semaphore(key, options).acquire()),
    );
    const large = later(all[1].semaphore(key, options).acquire(4));
    await queued(all[0], key, 1);
    const small = Array.from({ length: 12 }, (_, at) =>
      (all[at % 2] as Holdfast).semaphore(key, options).run(({ fence }) => fence),
    );
    await queued(all[0], key, 13);
    for (const holder of holders) await holder?.release();
    const lease = await large;
    await lease.release();
    expect(Math.min(...(await Promise.all(small)))).toBeGreaterThan(lease.fence);
  });
}

function agreeing(backend: Backend): void {
  it('is fixed while permits are in use, and another number is refused', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const lease = await one.semaphore(key, { permits: 3 }).acquire();
    const error = await failure(
      other.semaphore(key, { permits: 5 }).acquire(),
      'HOLDFAST_MISMATCH',
    );
    expect(error).toMatchObject({ key, option: 'permits' });
    expect(error.message).toContain(
      'in use as a semaphore with 3 permits, and was requested as a semaphore with 5',
    );
    await lease.release();
    await (await other.semaphore(key, { permits: 5 }).acquire(5)).release();
  });

  it('grows in use, and admits waiters', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const semaphore = one.semaphore(key, { permits: 1 });
    await using _lease = await semaphore.acquire();
    const waiting = later(other.semaphore(key, { permits: 1 }).acquire());
    await queued(one, key, 1);
    await semaphore.setPermits(3);
    await using _second = await waiting;
    expect(semaphore.permits).toBe(3);
    expect(await one.inspect(key)).toMatchObject({ permits: 3, used: 2 });
    await (await semaphore.acquire()).release();
    await failure(other.semaphore(key, { permits: 1 }).acquire(), 'HOLDFAST_MISMATCH');
  });
}

function shrinking(backend: Backend): void {
  it('shrinks in use: holders keep their permits, and new grants wait', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const semaphore = one.semaphore(key, { permits: 4 });
    const leases = await Promise.all([1, 2, 3, 4].map(() => semaphore.acquire()));
    const tooLarge = later(other.semaphore(key, { permits: 4, ttl: 200 }).acquire(3));
    await queued(one, key, 1);
    await semaphore.setPermits(2);
    expect(await one.inspect(key)).toMatchObject({ permits: 2, used: 4 });
    const waiting = later(other.semaphore(key, { permits: 2 }).acquire());
    const error = await failure(tooLarge, 'HOLDFAST_MISMATCH');
    expect(error.message).toContain('in use as a semaphore with 2 permits');
    await queued(one, key, 1);
    for (const lease of leases.slice(0, 2)) await lease.release();
    expect(leases[3]?.held).toBe(true);
    expect((await one.inspect(key))?.waiterCount).toBe(1);
    await leases[2]?.release();
    expect((await waiting).held).toBe(true);
  });

  it('stays small after a waiter that needs more is rejected', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const semaphore = one.semaphore(key, { permits: 4 });
    const lease = await semaphore.acquire(4);
    const tooLarge = later(other.semaphore(key, { permits: 4, ttl: 200 }).acquire(3));
    await queued(one, key, 1);
    await semaphore.setPermits(2);
    await lease.release();
    const error = await failure(tooLarge, 'HOLDFAST_MISMATCH');
    expect(error.message).toContain('in use as a semaphore with 2 permits');
    await using _all = await semaphore.acquire(2);
    expect(await one.inspect(key)).toMatchObject({ permits: 2, used: 2 });
  });

  it('is not changed by a caller that expects another number', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    await using _lease = await one.semaphore(key, { permits: 3 }).acquire();
    const stranger = other.semaphore(key, { permits: 2 });
    const error = await failure(stranger.setPermits(9), 'HOLDFAST_MISMATCH');
    expect(error.message).toContain(
      'with 3 permits, and was requested as a semaphore with 2 permits',
    );
    expect(stranger.permits).toBe(2);
    expect((await one.inspect(key))?.permits).toBe(3);
  });

  it('of an unused semaphore is set by the next caller', async () => {
    const holdfast = await backend.make();
    const semaphore = holdfast.semaphore(freshKey(), { permits: 3 });
    await semaphore.setPermits(5);
    await (await semaphore.acquire(5)).release();
    await failure(semaphore.setPermits(0), 'HOLDFAST_BAD_OPTION');
    await failure(semaphore.setPermits(undefined as never), 'HOLDFAST_BAD_OPTION');
  });
}
