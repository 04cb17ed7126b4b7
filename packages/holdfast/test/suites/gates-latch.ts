/** Counting down, waiting for zero, and how the wait ends. */
import { paced } from 'holdfast-testkit';
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { NO_POLL } from './gates-helpers.js';
import { failure, freshKey, later } from './helpers.js';

function makers(backend: Backend): (count?: number) => Promise<Holdfast[]> {
  return (count = 3) => Promise.all(Array.from({ length: count }, () => backend.make(NO_POLL)));
}

export function latchCounts(backend: Backend): void {
  const make = makers(backend);

  it('opens with the last count for all waiters, in all processes', async () => {
    const all = await make();
    const key = freshKey();
    const latches = all.map((one) => one.latch(key, { count: 3 }));
    let passed = 0;
    const waits = latches.flatMap((latch) =>
      [1, 2].map(() => latch.await().then(() => (passed += 1))),
    );
    const [one, other] = latches as [(typeof latches)[0], (typeof latches)[0]];
    expect(await one.countDown()).toBe(2);
    expect(await other.countDown()).toBe(1);
    expect(await one.count()).toBe(1);
    expect(passed).toBe(0);
    expect(await other.countDown()).toBe(0);
    await Promise.all(waits);
    // a late waiter passes, and a further count has no effect
    await one.await({ wait: 0 });
    expect(await one.countDown()).toBe(0);
    expect(await one.count()).toBe(0);
  });

  it('counts several at once, and never below zero', async () => {
    const [holdfast] = (await make(1)) as [Holdfast];
    const latch = holdfast.latch(freshKey(), { count: 5 });
    expect(await latch.count()).toBe(5);
    expect(await latch.countDown(3)).toBe(2);
    expect(await latch.countDown(10)).toBe(0);
  });

  it('counts each of many concurrent counts', async () => {
    const all = await make();
    const key = freshKey();
    const counts = all.flatMap((one) =>
      Array.from({ length: 20 }, () => one.latch(key, { count: 60 }).countDown()),
    );
    expect((await Promise.all(counts)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, index) => index),
    );
  });

  it('does not change when a waiter cancels', async () => {
    const [one, other] = (await make(2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const latch = one.latch(key, { count: 1 });
    await failure(latch.await({ wait: 0 }), 'HOLDFAST_TIMEOUT');
    await failure(latch.await({ wait: 5 }), 'HOLDFAST_TIMEOUT');
    const stop = new AbortController();
    const aborted = later(latch.await({ signal: stop.signal }));
    const waits = other.latch(key, { count: 1 }).await();
    stop.abort(new Error('enough'));
    expect((await failure(aborted, 'HOLDFAST_ABORTED')).cause).toEqual(new Error('enough'));
    await failure(latch.await({ signal: stop.signal }), 'HOLDFAST_ABORTED');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(await latch.count()).toBe(1);
    await latch.countDown();
    await waits;
  });
}

export function latchEnds(backend: Backend): void {
  const make = makers(backend);

  it('restarts after a reset: its waiters are told, and the old count is dropped', async () => {
    const [one, other] = (await make(2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const [latch, far] = [one.latch(key, { count: 2 }), other.latch(key, { count: 2 })];
    await far.countDown();
    const waits = later(latch.await());
    // its request is sent before the one that the test awaits here
    await latch.count();
    await far.reset();
    expect((await failure(waits, 'HOLDFAST_BROKEN')).message).toContain('reset');
    expect(await latch.count()).toBe(2);
    const again = latch.await();
    expect(await far.countDown()).toBe(1);
    expect(await latch.countDown()).toBe(0);
    await again;
    await latch.reset();
    expect(await far.count()).toBe(2);
  });

  it('is broken when no call counts it down for its ttl', async () => {
    const [one, other] = (await make(2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const far = other.latch(key, { count: 2 });
    const latch = one.latch(key, { count: 2, ttl: paced(100) });
    const waits = [later(latch.await())];
    await latch.count().catch(() => undefined);
    waits.push(later(far.await()));
    for (const one of waits) await failure(one, 'HOLDFAST_BROKEN');
    await failure(latch.await(), 'HOLDFAST_BROKEN');
    await failure(latch.countDown(), 'HOLDFAST_BROKEN');
    await failure(latch.count(), 'HOLDFAST_BROKEN');
    await far.reset();
    expect(await latch.count()).toBe(2);
  });

  it('refuses another initial count, and a barrier of the same key', async () => {
    const [holdfast] = (await make(1)) as [Holdfast];
    const key = freshKey();
    await holdfast.latch(key, { count: 2 }).countDown();
    const other = holdfast.latch(key, { count: 3 });
    expect((await failure(other.countDown(), 'HOLDFAST_MISMATCH')).message).toContain('count 2');
    await failure(other.await(), 'HOLDFAST_MISMATCH');
    await failure(holdfast.barrier(key, { parties: 2 }).await(), 'HOLDFAST_MISMATCH');
  });

  it('is not a lock, and is not listed as one', async () => {
    const [holdfast] = (await make(1)) as [Holdfast];
    const key = freshKey();
    const latch = holdfast.latch(key, { count: 1 });
    const waits = latch.await();
    await holdfast.mutex(key).run(() => latch.countDown());
    await waits;
    expect(await holdfast.inspect(key)).toBeNull();
    for await (const { key: found } of holdfast.list()) expect(found).not.toBe(key);
  });
}

export function latchDeletion(backend: Backend): void {
  const make = makers(backend);

  it('is as if never used: its waiters reject, and the key accepts another use', async () => {
    const [one, other] = (await make(2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const [latch, far] = [one.latch(key, { count: 2 }), other.latch(key, { count: 2 })];
    await far.countDown();
    const waits = later(latch.await());
    // its request is sent before the one that the test awaits here
    await latch.count();
    await far.delete();
    // a waiter whose subscription came later finds nothing
    expect((await failure(waits, 'HOLDFAST_BROKEN')).message).toMatch(/deleted|not remember/);
    const next = other.latch(key, { count: 1 });
    expect(await next.countDown()).toBe(0);
    await one.latch(key, { count: 1 }).await();
    // the count of the object that deletes need not be the agreed one
    await latch.delete();
    await far.delete();
    expect(await latch.countDown()).toBe(1);
    await latch.delete();
    const met = await Promise.all(
      [one, other].map((it) => it.barrier(key, { parties: 2 }).await()),
    );
    expect(new Set(met.map(({ index }) => index))).toEqual(new Set([0, 1]));
    await failure(latch.delete(), 'HOLDFAST_MISMATCH');
  });
}

export function latchCloses(backend: Backend): void {
  const make = makers(backend);

  it('ends for the waiters of an instance that closes', async () => {
    const [one, other] = (await make(2)) as [Holdfast, Holdfast];
    const key = freshKey();
    const latch = one.latch(key, { count: 1 });
    const waits = later(latch.await());
    await one.close();
    await failure(waits, 'HOLDFAST_CLOSED');
    await failure(latch.countDown(), 'HOLDFAST_CLOSED');
    await failure(latch.count(), 'HOLDFAST_CLOSED');
    expect(await other.latch(key, { count: 1 }).count()).toBe(1);
  });
}
