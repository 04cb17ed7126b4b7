/** Inspecting locks, and ending leases by force. On any backend. */
import { hostname } from 'node:os';
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { LockInfo } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, queued } from './helpers.js';
import { inspectionList } from './inspection-list.js';

export function inspectionSuite(backend: Backend): void {
  describe('ready', () => checking(backend));
  describe('inspect', () => inspecting(backend));
  describe('inspect, of a queue,', () => inspectingQueues(backend));
  describe('list', () => inspectionList(backend));
  describe('forceRelease', () => forcing(backend));
}

function checking(backend: Backend): void {
  it('resolves, also for many callers at once', async () => {
    const instances = await Promise.all(Array.from({ length: 5 }, () => backend.make()));
    const found = await Promise.all(instances.map((one) => one.ready()));
    for (const { pushes, roundTrip } of found) {
      expect(pushes).toBe(true);
      expect(roundTrip).toBeGreaterThanOrEqual(0);
    }
  });
}

function inspecting(backend: Backend): void {
  it('returns null for a lock that is not in use', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    expect(await holdfast.inspect(key)).toBeNull();
    await holdfast.mutex(key).run(() => undefined);
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('shows the holders, with label, host and process', async () => {
    const one = await backend.make({ label: 'from the instance' });
    const other = await backend.make();
    const key = freshKey();
    const lease = await one.mutex(key).acquire({ ttl: 20_000 });
    const info = (await other.inspect(key)) as LockInfo;
    expect(info).toMatchObject({ key, waiters: [], waiterCount: 0 });
    expect(info.fence).toBeGreaterThanOrEqual(lease.fence);
    expect(info.holders).toHaveLength(1);
    expect(info.holders[0]).toMatchObject({
      ...{ id: lease.id, fence: lease.fence, holds: 1, sharedBy: undefined },
      ...{ label: 'from the instance', host: hostname(), pid: process.pid },
    });
    expect(info.holders[0]?.remaining).toBeGreaterThan(10_000);
    expect(info.holders[0]?.remaining).toBeLessThanOrEqual(20_000);
    expect(info.holders[0]?.heldFor).toBeGreaterThanOrEqual(0);
  });

  it('shows the label of the acquisition, or the mutex, or the instance', async () => {
    const holdfast = await backend.make({ label: 'instance' });
    const labels: unknown[] = [];
    const look = async (key: string): Promise<void> => {
      labels.push((await holdfast.inspect(key))?.holders[0]?.label);
    };
    for (const [mutex, own] of [
      [{}, {}],
      [{ label: 'mutex' }, {}],
      [{ label: 'mutex' }, { label: 'acquisition "é" \n' }],
    ]) {
      const key = freshKey();
      await holdfast.mutex(key, mutex).run(() => look(key), own);
    }
    expect(labels).toEqual(['instance', 'mutex', 'acquisition "é" \n']);
  });
}

function inspectingQueues(backend: Backend): void {
  it('shows the waiters, in order', async () => {
    const [one, other] = [await backend.make(), await backend.make({ label: 'other' })];
    const key = freshKey();
    await using _lease = await one.mutex(key).acquire();
    void later(other.mutex(key).acquire({ fair: true }));
    await queued(one, key, 1);
    void later(one.mutex(key).acquire({ sharedBy: 'me', label: 'second' }));
    const info = await queued(one, key, 2);
    expect(info.waiters.map(({ label, fair, sharedBy }) => ({ label, fair, sharedBy }))).toEqual([
      { label: 'other', fair: true, sharedBy: undefined },
      { label: 'second', fair: false, sharedBy: 'me' },
    ]);
    const [first, second] = info.waiters.map(({ waitedFor }) => waitedFor) as [number, number];
    expect(first).toBeGreaterThanOrEqual(second);
    expect(second).toBeGreaterThanOrEqual(0);
  });

  it('shows the first hundred of many waiters, and their number', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    await using _lease = await holdfast.mutex(key).acquire();
    // a lease that is not renewed is never shared, so each of these has an entry
    for (let at = 0; at < 120; at++) void later(holdfast.mutex(key).acquire({ renew: false }));
    const info = await queued(holdfast, key, 120);
    expect(info.waiters).toHaveLength(100);
  });

  it('changes nothing', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire({ ttl: paced(100), renew: false });
    void later(holdfast.mutex(key).acquire());
    await queued(holdfast, key, 1);
    const before = lease.remaining;
    await holdfast.inspect(key);
    expect(lease.remaining).toBeLessThanOrEqual(before);
    await aborted(lease.signal);
  });
}

function forcing(backend: Backend): void {
  it('ends the lease, wakes the next waiter, and returns how many leases it ended', async () => {
    const [victim, waiter, admin] = [
      await backend.make(),
      await backend.make(),
      await backend.make(),
    ];
    const key = freshKey();
    const lease = await victim.mutex(key).acquire({ ttl: 60_000 });
    const waiting = waiter.mutex(key).acquire();
    await queued(admin, key, 1);
    expect((await admin.forceRelease(key)).ended).toBe(1);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await lease.release()).toBe('lost');
    expect((await admin.inspect(key))?.holders[0]?.id).toBe(next.id);
  });

  it('returns 0 if there is no holder', async () => {
    const holdfast = await backend.make();
    expect((await holdfast.forceRelease(freshKey())).ended).toBe(0);
  });

  it('of one acquisition leaves the others', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire();
    expect((await holdfast.forceRelease(key, { id: 'another id' })).ended).toBe(0);
    expect(lease.held).toBe(true);
    expect((await holdfast.forceRelease(key, { id: lease.id })).ended).toBe(1);
    expect(await holdfast.inspect(key)).toBeNull();
    const both = { id: lease.id, holder: lease.id };
    await failure(holdfast.forceRelease(key, both), 'HOLDFAST_BAD_OPTION');
    await failure(holdfast.forceRelease(key, { id: '' }), 'HOLDFAST_BAD_OPTION');
  });

  it('aborts the signal at once in a process with a wake channel', async () => {
    // the waiter polls after 15 s, so an immediate grant arrived by push
    const calm = { claimWindow: 60_000, retention: 600_000 };
    const [victim, admin] = [await backend.make(calm), await backend.make()];
    const [opener, key] = [freshKey(), freshKey()];
    const first = await admin.mutex(opener).acquire();
    const second = victim.mutex(opener).acquire();
    await queued(admin, opener, 1);
    await first.release();
    await (await second).release();
    // its next renewal would be in 20 s
    const lease = await victim.mutex(key).acquire({ ttl: 60_000 });
    const reason = aborted(lease.signal);
    expect((await admin.forceRelease(key)).ended).toBe(1);
    expect(await reason).toMatchObject({ code: 'HOLDFAST_LOST', key });
    expect((await reason).message).toContain('by force');
    expect(lease.held).toBe(false);
  });

  telling(backend);

  confirming(backend);

  it('aborts the signal at the next renewal in a process without a wake channel', async () => {
    const [victim, admin] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await victim.mutex(key).acquire({ ttl: paced(900) });
    const reason = aborted(lease.signal);
    expect((await admin.forceRelease(key)).ended).toBe(1);
    expect(await reason).toMatchObject({ code: 'HOLDFAST_LOST', key });
    expect(await lease.release()).toBe('lost');
  });
}

function confirming(backend: Backend): void {
  it('waits for the word of each holder, and says for how long one may not know', async () => {
    const calm = { claimWindow: 20_000, retention: 600_000 };
    const [listener, silent, admin] = [
      await backend.make(),
      await backend.make(calm),
      await backend.make(),
    ];
    const key = freshKey();
    await listener.warmUp();
    const first = await listener.mutex(key).acquire({ ttl: 60_000 });
    expect(await admin.forceRelease(key, { wait: 20_000 })).toEqual({ ended: 1, overlap: 0 });
    expect(first.held).toBe(false);
    // of two holders, one does not listen, and would ask the store in 20 s
    const semaphore = { permits: 2, ttl: 60_000 };
    const second = await listener.semaphore(`${key}s`, semaphore).acquire();
    const third = await silent.semaphore(`${key}s`, semaphore).tryAcquire();
    const { ended, overlap } = await admin.forceRelease(`${key}s`, { wait: 50 });
    expect(ended).toBe(2);
    expect(overlap).toBeGreaterThan(30_000);
    expect(overlap).toBeLessThanOrEqual(60_000);
    expect(third?.held).toBe(true);
    await aborted(second.signal);
  });
}

function telling(backend: Backend): void {
  it('tells the holder the reason, and which process and instance did it', async () => {
    const [victim, admin] = [await backend.make(), await backend.make({ label: 'night shift' })];
    const key = freshKey();
    const force = { reason: 'stuck since 02:00' };
    const by = `by force by process ${process.pid} on ${hostname()}`;
    const expected = `${by}: stuck since 02:00, by night shift`;
    // at the next renewal, at an extension, and at the release
    const lease = await victim.mutex(key).acquire({ ttl: paced(900) });
    const reason = aborted(lease.signal);
    expect((await admin.forceRelease(key, force)).ended).toBe(1);
    expect((await reason).message).toContain(expected);
    expect(lease.held).toBe(false);
    const extending = await victim.mutex(key).acquire({ ttl: 60_000 });
    await admin.forceRelease(key, { ...force, holder: extending.id });
    const lost = await failure(extending.extend(1000), 'HOLDFAST_LOST');
    expect(lost.message).toContain(expected);
    const working = victim.semaphore(key, { permits: 3 }).run(async () => {
      await admin.forceRelease(key, force);
    });
    expect((await failure(working, 'HOLDFAST_LOST')).message).toContain(expected);
    await failure(admin.forceRelease(key, { reason: 7 } as object), 'HOLDFAST_BAD_OPTION');
  });

  it('tells each hold of a shared lease, and no later lease', async () => {
    const [victim, admin] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const holds = [0, 1].map(() => victim.mutex(key).acquire({ sharedBy: 'us', ttl: paced(900) }));
    const reasons = (await Promise.all(holds)).map(({ signal }) => aborted(signal));
    await admin.forceRelease(key, { reason: 'enough' });
    for (const reason of await Promise.all(reasons)) {
      expect(reason.message).toMatch(/by force by process \d+ on .*: enough \(see /);
    }
    const next = await victim.mutex(key).acquire({ ttl: 60_000 });
    expect(await next.release()).toBe('freed');
  });
}
