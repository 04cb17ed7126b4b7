/** Leases that wait at a condition, or are released, while a signal or a wait has no answer. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Mutex } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const OPTIONS = { ttl: 9000, claimWindow: 1000, requestTimeout: 1000 };

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;
let mutex: Mutex;
/** Unhandled rejections. */
let unhandled: unknown[];
const note = (reason: unknown): void => void unhandled.push(reason);
/** The listeners of the test runner, which would stop the run. */
let others: NodeJS.UnhandledRejectionListener[];

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { ...OPTIONS, clock });
  mutex = holdfast.mutex('k');
  unhandled = [];
  others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', note);
});

afterEach(async () => {
  await settle();
  process.removeListener('unhandledRejection', note);
  for (const other of others) process.on('unhandledRejection', other);
  expect(unhandled).toEqual([]);
});

async function unused(): Promise<void> {
  store.heal();
  await clock.advance(5000);
  const looking = holdfast.inspect('k');
  await clock.advance(10);
  expect(await looking).toBeNull();
}

describe('while a signal is unanswered', () => {
  it('a release ends the wait at a condition, and frees the lock', async () => {
    const lease = await mutex.acquire();
    store.ail('signal', 'lost');
    const signalling = later(mutex.condition('c').signal(lease));
    const waiting = later(mutex.condition('d').await(lease));
    await clock.advance(10);
    const releasing = lease.release();
    await clock.advance(10);
    await failure(waiting, 'HOLDFAST_LOST');
    expect(await releasing).toBe('lost');
    await clock.advance(5000);
    await expect(signalling).rejects.toMatchObject({ code: /HOLDFAST_(LOST|UNCERTAIN)/ });
    await unused();
  });

  it('closing ends both calls', async () => {
    const lease = await mutex.acquire();
    store.ail('signal', 'lost');
    const signalling = later(mutex.condition('c').signal(lease));
    const waiting = later(mutex.condition('d').await(lease));
    await clock.advance(10);
    const closing = holdfast.close({ grace: 0 });
    await clock.advance(10_000);
    await closing;
    await failure(waiting, 'HOLDFAST_CLOSED');
    await expect(signalling).rejects.toMatchObject({ name: 'HoldfastError' });
  });
});

it('a waiter that is woken and aborts before its first request is answered was woken', async () => {
  const other = new Holdfast(new WatchedStore(clock, store.inner), { ...OPTIONS, clock });
  // contention opens the wake channel
  const held = await other.mutex('k').acquire();
  const asking = mutex.acquire();
  await clock.advance(10);
  await held.release();
  await clock.advance(10);
  const lease = await asking;
  store.ail('park', 100);
  const controller = new AbortController();
  const waiting = later(mutex.condition('c').await(lease, { signal: controller.signal }));
  await clock.advance(10);
  const signaller = await other.mutex('k').acquire();
  expect(await other.mutex('k').condition('c').signal(signaller)).toBe(1);
  controller.abort();
  await signaller.release();
  // the grant is pushed before the answer
  await clock.advance(10);
  expect((await holdfast.inspect('k'))?.holders[0]?.id).not.toBe(signaller.id);
  await clock.advance(200);
  expect(await waiting).toBe(true);
  expect(lease.held).toBe(true);
});
