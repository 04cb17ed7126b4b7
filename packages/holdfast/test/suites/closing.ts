/** Closing an instance, on any backend. */
import { getEventListeners } from 'node:events';
import { isMainThread } from 'node:worker_threads';
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { closingChildren, endingChildren } from './closing-children.js';
import { aborted, failure, freshKey, later, queued, renewedUntil, unused } from './helpers.js';

export function closeSuite(backend: Backend): void {
  describe('close', () => closing(backend));
  describe('close, afterwards,', () => afterwards(backend));
  // a child cannot share a register that is in the memory of this process
  const { store } = backend;
  if (store === 'memory' || store === 'redis')
    describe('a process', () => closingChildren(backend));
  const { program } = backend;
  if (program) describe('a program without close', () => endingChildren(backend, program));
}

function closing(backend: Backend): void {
  it('rejects its waiters, and removes them from the queue', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await using _lease = await one.mutex(key).acquire();
    const waiting = [
      later(other.mutex(key).acquire()),
      later(other.mutex(key).tryAcquire({ wait: 9e9 })),
    ];
    const running = later(other.mutex(key).run(() => 1));
    await queued(one, key, 3, [other]);
    await other.close();
    for (const one of [...waiting, running]) {
      expect((await failure(one, 'HOLDFAST_CLOSED')).key).toBe(key);
    }
    await queued(one, key, 0);
  });

  it('waits for its holders, and renews their leases until then', async () => {
    const [one, other] = [await backend.make({ ttl: paced(2400) }), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    let closed = false;
    const closing = one.close({ grace: 60_000 }).then(() => {
      closed = true;
    });
    const next = later(other.mutex(key).acquire());
    await queued(other, key, 1);
    await renewedUntil(other, key, paced(3000));
    expect(lease.held).toBe(true);
    expect(closed).toBe(false);
    expect(await lease.release()).toBe('freed');
    await closing;
    expect((await next).held).toBe(true);
  });

  it('after the grace releases the remaining leases, and aborts their signals', async () => {
    const [one, other] = [await backend.make({ ttl: 60_000 }), await backend.make()];
    const keys = [freshKey(), freshKey()];
    const leases = await Promise.all(keys.map((key) => one.mutex(key).acquire()));
    const reasons = leases.map(({ signal }) => aborted(signal));
    const waiting = other.mutex(keys[0] as string).acquire();
    await queued(other, keys[0] as string, 1);
    await one.close({ grace: 20 });
    for (const reason of reasons) {
      expect(await reason).toMatchObject({ code: 'HOLDFAST_LOST' });
      expect((await reason).message).toContain('closed');
    }
    expect((await waiting).held).toBe(true);
    expect(await other.inspect(keys[1] as string)).toBeNull();
    expect(await leases[0]?.release()).toBe('lost');
  });
}

function afterwards(backend: Backend): void {
  it('happens once: a second call waits for the same end', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire();
    const ends: string[] = [];
    const first = holdfast.close().then(() => ends.push('first'));
    const second = holdfast.close({ grace: 20_000 }).then(() => ends.push('second'));
    expect(ends).toEqual([]);
    expect(lease.held).toBe(true);
    await lease.release();
    await Promise.all([first, second]);
    expect(ends.sort()).toEqual(['first', 'second']);
    await holdfast.close();
  });

  it('has the shortest grace of all calls', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire();
    const first = holdfast.close({ grace: 3_600_000 });
    expect(lease.held).toBe(true);
    await Promise.all([holdfast.close({ grace: 0 }), first]);
    expect(lease.state).toBe('lost');
  });

  it('refuses new acquisitions', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const closing = holdfast.close();
    await failure(mutex.acquire(), 'HOLDFAST_CLOSED');
    await closing;
    await failure(mutex.tryAcquire(), 'HOLDFAST_CLOSED');
    await failure(
      mutex.run(() => 1),
      'HOLDFAST_CLOSED',
    );
  });

  it('happens at the end of an `await using` block', async () => {
    const other = await backend.make();
    const key = freshKey();
    let mutex;
    {
      await using holdfast = await backend.make();
      mutex = holdfast.mutex(key);
      await (await mutex.acquire()).release();
    }
    await failure(mutex.acquire(), 'HOLDFAST_CLOSED');
    await unused(other, key);
  });

  it('removes its listeners from signals of the process and of callers', async () => {
    const before = process.listenerCount('SIGUSR2');
    // a worker thread gets no signals
    const closeOnSignals: NodeJS.Signals[] = isMainThread ? ['SIGUSR2'] : [];
    const holdfast = await backend.make({ closeOnSignals });
    expect(process.listenerCount('SIGUSR2')).toBe(before + closeOnSignals.length);
    const key = freshKey();
    const { signal } = new AbortController();
    const lease = await holdfast.mutex(key).acquire({ signal });
    const waiting = later(holdfast.mutex(key).acquire({ signal }));
    await queued(holdfast, key, 1);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await lease.release();
    await (await waiting).release();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await holdfast.close();
    expect(process.listenerCount('SIGUSR2')).toBe(before);
  });
}
