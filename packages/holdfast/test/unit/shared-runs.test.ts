/** Runs of a reentrant mutex that share a lease: the lock is held until the last run ends. */
import { beforeEach, expect, it } from 'vitest';
import { Holdfast, type Lease, type Mutex } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let mutex: Mutex;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  mutex = new Holdfast(store, { clock, ttl: 9000 }).mutex('k', { reentrant: true });
});

const other = (): Promise<Lease | null> => new Holdfast(store, { clock }).mutex('k').tryAcquire();
const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));

it('a branch that continues after another threw keeps the lock', async () => {
  let seen: boolean | undefined;
  const inner = async (lease: Lease): Promise<void> => {
    await pause(500);
    seen = lease.held;
  };
  const run = mutex.run(() => Promise.all([Promise.reject(new Error('mine')), mutex.run(inner)]));
  await expect(run).rejects.toThrow('mine');
  expect(await other()).toBeNull();
  await clock.advance(600);
  expect(seen).toBe(true);
  expect(store.seen('release')).toHaveLength(1);
  expect(await other()).not.toBeNull();
});

it('detached work resolves only if the lock was held until its end', async () => {
  let detached: Promise<string> = Promise.resolve('');
  await mutex.run(async () => {
    detached = mutex.run(async (lease) => {
      await pause(100);
      lease.assertHeld();
      return 'alone';
    });
  });
  await clock.advance(100);
  expect(await detached).toBe('alone');
  expect(await other()).not.toBeNull();
});

it('the outer run does not wait for the others, so that they may wait for it', async () => {
  let detached: Promise<void> = Promise.resolve();
  const outer = mutex.run(async () => {
    detached = mutex.run(async () => {
      await outer;
    });
  });
  await outer;
  await detached;
  expect(store.seen('release')).toHaveLength(1);
});

it('runs reject if the lease was released explicitly', async () => {
  let detached: Promise<void> = Promise.resolve();
  await mutex.run(async (lease) => {
    detached = mutex.run(() => pause(100));
    await lease.release();
  });
  const rejected = expect(detached).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  await clock.advance(100);
  await rejected;
});

it('all runs reject if the lease was lost', async () => {
  let detached: Promise<void> = Promise.resolve();
  const run = mutex.run(async () => {
    detached = mutex.run(() => pause(8500));
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    await pause(8000);
  });
  await clock.advance(0);
  const rejected = [run, detached].map((one) =>
    expect(one).rejects.toMatchObject({ code: 'HOLDFAST_LOST' }),
  );
  await clock.advance(9000);
  await Promise.all(rejected);
});

it('work that begins after the last run has ended acquires the lock anew', async () => {
  let late: Promise<number> = Promise.resolve(0);
  const fence = await mutex.run(async (lease) => {
    late = pause(100).then(() => mutex.run((again) => again.fence));
    return lease.fence;
  });
  await clock.advance(100);
  expect(await late).toBeGreaterThan(fence);
});

it('nested runs release once, at the end of the outermost', async () => {
  const depth = await mutex.run(() => mutex.run(() => mutex.run(() => 3)));
  expect(depth).toBe(3);
  expect(store.seen('acquire')).toHaveLength(1);
  expect(store.seen('release')).toHaveLength(1);
});

it('a condition does not give the lease away under another open run', async () => {
  const condition = mutex.condition('c');
  let refused: unknown;
  const held: boolean[] = [];
  await mutex.run(async (outer) => {
    const working = mutex.run(async (lease) => {
      await pause(100);
      held.push(lease.held, (await other()) === null);
    });
    const waiting = mutex
      .run((lease) => condition.await(lease, { wait: 50 }))
      .catch((error) => {
        refused = error;
      });
    await later(waiting);
    held.push(outer.held);
    const both = later(working);
    await clock.advance(200);
    await both;
  });
  expect(refused).toMatchObject({ code: 'HOLDFAST_REFUSED' });
  expect(held).toEqual([true, true, true]);
});

it('a condition may be awaited in a run of which all others wait for it', async () => {
  const condition = mutex.condition('c');
  const work = mutex.run(() =>
    mutex.run(async (lease) => {
      const woken = await condition.await(lease, { wait: 50 });
      return [woken, lease.held];
    }),
  );
  await clock.advance(100);
  expect(await work).toEqual([false, true]);
  // detached runs that have ended do not count
  let inner: Promise<unknown> = Promise.resolve();
  const next = mutex.run(async (lease) => {
    inner = mutex.run(() => 1);
    await inner;
    return condition.await(lease, { wait: 50 });
  });
  await clock.advance(100);
  expect(await next).toBe(false);
});

it('an inner run checks its options, and is rejected by an aborted signal', async () => {
  await mutex.run(async (outer) => {
    const wrong = mutex.run(() => 1, { wait: -1 });
    expect((await failure(wrong, 'HOLDFAST_BAD_OPTION')).option).toBe('wait');
    const aborted = mutex.run(() => 1, { signal: AbortSignal.abort('over') });
    expect((await failure(aborted, 'HOLDFAST_ABORTED')).cause).toBe('over');
    expect(outer.signal.aborted).toBe(false);
  });
});
