/** An abort of a wait at a condition, while the store does not answer. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease, type Mutex } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const options = { ttl: 3000, claimWindow: 1000, requestTimeout: 100, unreachableAfter: 5000 };
let clock: VirtualClock;
let store: WatchedStore;
let mutex: Mutex;
let others: Mutex;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  mutex = new Holdfast(store, { ...options, clock }).mutex('k');
  others = new Holdfast(store.inner, { ...options, clock }).mutex('k');
});

describe('an abort, while the store is silent', () => {
  const stopped = async (
    silent: (lease: Lease) => void,
  ): Promise<{ lease: Lease; stop: AbortController; seen: () => unknown }> => {
    const lease = await mutex.acquire();
    const stop = new AbortController();
    let seen: unknown;
    silent(lease);
    mutex
      .condition('c')
      .await(lease, { signal: stop.signal })
      .catch((error: { code: string }) => (seen = error.code));
    await settle();
    return { lease, stop, seen: () => seen };
  };
  const nothingHeld = async (lease: Lease): Promise<void> => {
    expect(lease.held).toBe(false);
    store.heal();
    await clock.advance(5000);
    expect(await others.isLocked()).toBe(false);
    const [reply] = store.inner.execute([{ op: 'inspect', key: 'k', limit: 9 }]);
    expect(await reply).toMatchObject({ parkedCount: 0 });
  };

  it.each(['lost', 'answer lost'] as const)('of the request to park (%s)', async (fate) => {
    const { lease, stop, seen } = await stopped(() => store.ail('park', fate));
    await clock.advance(50);
    expect(seen()).toBeUndefined();
    stop.abort();
    await clock.advance(options.requestTimeout);
    expect(seen()).toBe('HOLDFAST_UNREACHABLE');
    await nothingHeld(lease);
  });

  it.each(['lost', 'answer lost'] as const)('of the request to return (%s)', async (fate) => {
    const { lease, stop, seen } = await stopped(() => undefined);
    await clock.advance(500);
    store.fate = () => fate;
    stop.abort();
    await clock.advance(options.requestTimeout);
    expect(seen()).toBe('HOLDFAST_UNREACHABLE');
    await nothingHeld(lease);
  });

  it('before the request to park: the lease is kept', async () => {
    const { lease, stop, seen } = await stopped((holder) => {
      store.ail('signal', 'lost');
      void later(mutex.condition('d').signal(holder));
    });
    stop.abort();
    await settle();
    expect(seen()).toBe('HOLDFAST_ABORTED');
    expect(lease.held).toBe(true);
    store.heal();
    await clock.advance(5000);
    expect(lease.held).toBe(true);
    expect(await lease.release()).toBe('freed');
  });

  it('after a failure that passes within the time limit: the lock is held again', async () => {
    mutex = new Holdfast(store, { ttl: 3000, clock }).mutex('k');
    const { lease, stop, seen } = await stopped(() => undefined);
    await clock.advance(500);
    store.fate = (
      (left) => () =>
        left-- > 0 ? 'failed' : 'answered'
    )(1);
    stop.abort();
    await clock.advance(1000);
    expect(seen()).toBe('HOLDFAST_ABORTED');
    expect(lease.held).toBe(true);
    expect(await lease.release()).toBe('freed');
  });
});
