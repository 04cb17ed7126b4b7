/** Waits on a condition that end without a signal, and signals that arrive meanwhile. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { waitForParked } from './condition-helpers.js';
import { aborted, failure, freshKey, later, queued, unused } from './helpers.js';

export function conditionCancellation(backend: Backend): void {
  aborting(backend);
  racing(backend);
  ending(backend);
  closing(backend);
}

function aborting(backend: Backend): void {
  it('reacquires the lock before it rejects', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const controller = new AbortController();
    const waiting = later(mutex.condition('c').await(lease, { signal: controller.signal }));
    await waitForParked(other, mutex.key, 1);
    const between = await other.mutex(mutex.key).acquire();
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await queued(other, mutex.key, 1);
    await between.release();
    expect((await failure(waiting, 'HOLDFAST_ABORTED')).cause).toBe(reason);
    expect(lease.held).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.fence).toBeGreaterThan(between.fence);
    await failure(
      mutex.condition('c').await(lease, { signal: controller.signal }),
      'HOLDFAST_ABORTED',
    );
    expect(await lease.release()).toBe('freed');
    await unused(other, mutex.key);
  });

  it('has no effect after the signal: the waiter was woken', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const controller = new AbortController();
    const waiting = mutex.condition('c').await(lease, { signal: controller.signal });
    await waitForParked(other, mutex.key, 1);
    await other.mutex(mutex.key).run(async (signaller) => {
      expect(await other.mutex(mutex.key).condition('c').signal(signaller)).toBe(1);
      controller.abort();
    });
    expect(await waiting).toBe(true);
  });
}

function racing(backend: Backend): void {
  it.each(['the end of the wait', 'an abort', 'a release'])(
    'by %s during a signal: each signal wakes one waiter if one is parked',
    async (how) => {
      const [one, other] = [await backend.make(), await backend.make()];
      const key = freshKey();
      const mutex = one.mutex(key);
      const signalling = other.mutex(key);
      for (let trial = 0; trial < 6; trial++) {
        const controller = new AbortController();
        const lease = await mutex.acquire();
        const options = how === 'an abort' ? { signal: controller.signal } : {};
        const wait = how === 'the end of the wait' ? { wait: 20 + trial } : {};
        const outcome = async (held: Lease, more: object): Promise<boolean> => {
          const woken = await mutex
            .condition('c')
            .await(held, more)
            .catch(() => false);
          await held.release();
          return woken;
        };
        const first = outcome(lease, { ...options, ...wait });
        // granted when the first has released the lock; the first may have reacquired it before
        const second = outcome(await mutex.acquire(), {});
        // granted when the second has released it
        const signaller = await signalling.acquire();
        const sent = signalling.condition('c').signal(signaller);
        for (let turns = trial % 3; turns > 0; turns--) await Promise.resolve();
        if (how === 'an abort') controller.abort();
        if (how === 'a release') void lease.release();
        expect(await sent).toBe(1);
        await signaller.release();
        const firstWoken = await first;
        // if the signal did not wake the first waiter, it woke the second
        if (!firstWoken) expect(await second).toBe(true);
        const last = await signalling.acquire();
        await signalling.condition('c').signalAll(last);
        await last.release();
        expect(await second).toBe(true);
        await unused(other, key);
      }
    },
  );
}

function ending(backend: Backend): void {
  it('by releasing the lease does not reacquire the lock', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const waiting = later(mutex.condition('c').await(lease));
    await waitForParked(other, mutex.key, 1);
    await using _between = await other.mutex(mutex.key).acquire();
    expect(await lease.release()).toBe('lost');
    expect((await failure(waiting, 'HOLDFAST_LOST')).message).toContain('released while');
    expect(lease.signal.aborted).toBe(true);
    await waitForParked(other, mutex.key, 0);
  });

  it('by ending `run` too soon is an error of the run', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    let forgotten: Promise<boolean> | undefined;
    const work = (lease: Lease): void => {
      forgotten = later(mutex.condition('c').await(lease));
    };
    await failure(mutex.run(work), 'HOLDFAST_LOST');
    await failure(forgotten as Promise<boolean>, 'HOLDFAST_LOST');
    await unused(holdfast, mutex.key);
  });
}

function closing(backend: Backend): void {
  it('by closing removes the parked waiters', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const waiting = later(mutex.condition('c').await(lease));
    await waitForParked(other, mutex.key, 1);
    await one.close();
    await failure(waiting, 'HOLDFAST_CLOSED');
    expect((await aborted(lease.signal)).code).toBe('HOLDFAST_LOST');
    await unused(other, mutex.key);
  });

  it('by closing after the wake-up hands the signal on', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const condition = other.mutex(key).condition('c');
    const leases = [await one.mutex(key).acquire()];
    const first = later(
      one
        .mutex(key)
        .condition('c')
        .await(leases[0] as Lease),
    );
    await waitForParked(other, key, 1);
    const own = await other.mutex(key).acquire();
    const second = condition.await(own);
    await waitForParked(other, key, 2);
    const signaller = await other.mutex(key).acquire();
    expect(await condition.signal(signaller)).toBe(1);
    await signaller.release();
    expect(await first).toBe(true);
    // its work is not done when its process ends
    await one.close({ grace: 0 });
    expect(await second).toBe(true);
    await own.release();
    await unused(other, key);
  });

  it('leaves the lock with its holder when the lease was ended by force', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const waiting = mutex.condition('c').await(lease);
    await waitForParked(other, mutex.key, 1);
    const holder = await other.mutex(mutex.key).acquire({ ttl: paced(600) });
    expect((await one.forceRelease(mutex.key)).ended).toBe(1);
    expect((await aborted(holder.signal)).code).toBe('HOLDFAST_LOST');
    expect((await waitForParked(other, mutex.key, 1)).holders).toEqual([]);
    await other
      .mutex(mutex.key)
      .run((signaller) => other.mutex(mutex.key).condition('c').signal(signaller));
    expect(await waiting).toBe(true);
  });
}
