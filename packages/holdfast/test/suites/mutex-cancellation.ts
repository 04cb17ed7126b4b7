/** Waits that end without the lock: wait limits, signals, and grants that arrive too late. */
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { failure, freshKey, later, queued, unused } from './helpers.js';

export function mutexCancellation(backend: Backend): void {
  limits(backend);
  races(backend);
}

function limits(backend: Backend): void {
  it('rejects an acquisition with a wait limit of 0', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    await using _lease = await holdfast.mutex(key).acquire();
    const error = await failure(holdfast.mutex(key).acquire({ wait: 0 }), 'HOLDFAST_TIMEOUT');
    expect(error.key).toBe(key);
    expect(error.message).toContain(key);
  });

  it('rejects at the wait limit, not before, and leaves the queue', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await using _lease = await one.mutex(key).acquire();
    const start = performance.now();
    await failure(other.mutex(key).acquire({ wait: 60 }), 'HOLDFAST_TIMEOUT');
    expect(await other.mutex(key).tryAcquire({ wait: 60 })).toBeNull();
    expect(performance.now() - start).toBeGreaterThanOrEqual(118);
    await queued(one, key, 0);
  });

  it('sends no request if its signal has aborted', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const reason = new Error('changed my mind');
    const signal = AbortSignal.abort(reason);
    const error = await failure(holdfast.mutex(key).acquire({ signal }), 'HOLDFAST_ABORTED');
    expect(error.cause).toBe(reason);
    await failure(holdfast.mutex(key).tryAcquire({ signal }), 'HOLDFAST_ABORTED');
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('on a signal leaves the queue, and the waiters behind it move up', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const controller = new AbortController();
    const first = later(other.mutex(key).acquire({ signal: controller.signal }));
    await queued(one, key, 1);
    const second = other.mutex(key).acquire();
    await queued(one, key, 2, [other]);
    const reason = new Error('changed my mind');
    controller.abort(reason);
    expect((await failure(first, 'HOLDFAST_ABORTED')).cause).toBe(reason);
    await queued(one, key, 1);
    await lease.release();
    expect((await second).held).toBe(true);
  });

  it('has no effect on a lease that is held already', async () => {
    const holdfast = await backend.make();
    const controller = new AbortController();
    const lease = await holdfast.mutex(freshKey()).acquire({ signal: controller.signal });
    controller.abort();
    expect(lease.held).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(await lease.release()).toBe('freed');
  });
}

function races(backend: Backend): void {
  it('before the store has answered leaves no lease and no waiter', async () => {
    const holdfast = await backend.make({ ttl: 60_000 });
    const key = freshKey();
    for (let trial = 0; trial < 10; trial++) {
      const controller = new AbortController();
      const acquiring = later(holdfast.mutex(key).acquire({ signal: controller.signal }));
      // sent, not answered
      await Promise.resolve();
      controller.abort();
      await failure(acquiring, 'HOLDFAST_ABORTED');
      await unused(holdfast, key);
    }
  });

  it('releases a grant that was in transit', async () => {
    // no lease expires within the test
    const calm = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };
    const [one, other] = [await backend.make(calm), await backend.make(calm)];
    const key = freshKey();
    for (let trial = 0; trial < 10; trial++) {
      const lease = await one.mutex(key).acquire();
      const controller = new AbortController();
      const waiting = later(other.mutex(key).acquire({ signal: controller.signal }));
      await queued(one, key, 1);
      // the release is sent first, so in some trials the store grants the abandoned acquisition
      const releasing = lease.release();
      for (let turns = trial % 5; turns > 0; turns--) await Promise.resolve();
      controller.abort();
      expect(await releasing).toBe('freed');
      const outcome = await waiting.catch(() => undefined);
      await outcome?.release();
      await unused(one, key);
    }
  });

  it('of one acquisition does not affect the others', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const controllers = Array.from({ length: 20 }, () => new AbortController());
    let granted = 0;
    const waiting = controllers.map(({ signal }, at) =>
      (at % 2 === 0 ? one : other)
        .mutex(key)
        .run(
          () => {
            granted += 1;
          },
          { signal },
        )
        .catch((error: { code?: string }) => error.code),
    );
    await queued(one, key, 20, [other]);
    for (const [at, controller] of controllers.entries()) if (at % 3 === 0) controller.abort();
    await lease.release();
    const ends = await Promise.all(waiting);
    expect(granted).toBe(13);
    expect(ends.filter((end) => end === 'HOLDFAST_ABORTED')).toHaveLength(7);
    await unused(one, key);
  });
}
