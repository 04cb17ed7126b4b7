/**
 * A lease that was handed off inside the process is parked, released or closed before the store has
 * answered the hand-off; or while a signal has no answer.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/engine/commands.js';
import { Holdfast, type Lease, type Mutex } from '../../src/index.js';
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

const isPass = (command: Command): boolean => command.op === 'release' && command.to !== '';

/** A lease whose hand-off reaches the store after the given ms, or never. */
async function passedOn(fate: number | 'lost'): Promise<Lease> {
  const first = await mutex.acquire();
  const second = mutex.acquire();
  await clock.advance(1);
  const until = clock.now() + (fate === 'lost' ? Number.POSITIVE_INFINITY : fate);
  store.fate = (command) => (isPass(command) && clock.now() < until ? 'failed' : 'answered');
  void later(first.release());
  return second;
}

async function unused(): Promise<void> {
  store.heal();
  await clock.advance(5000);
  const looking = holdfast.inspect('k');
  await clock.advance(10);
  expect(await looking).toBeNull();
}

describe('at a condition, while the hand-off is unanswered', () => {
  it('an abort keeps the lock: it is held when the call rejects', async () => {
    const lease = await passedOn(300);
    const controller = new AbortController();
    const waiting = later(mutex.condition('c').await(lease, { signal: controller.signal }));
    await clock.advance(50);
    controller.abort();
    await clock.advance(50);
    expect(store.seen('park')).toHaveLength(0);
    await clock.advance(3000);
    await failure(waiting, 'HOLDFAST_ABORTED');
    expect(lease.held).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    void later(lease.release());
    await unused();
  });

  it('an ended wait keeps the lock', async () => {
    const lease = await passedOn(300);
    const waiting = later(mutex.condition('c').await(lease, { wait: 50 }));
    await clock.advance(200);
    expect(store.seen('park')).toHaveLength(0);
    await clock.advance(3000);
    expect(await waiting).toBe(false);
    expect(lease.held).toBe(true);
    void later(lease.release());
    await unused();
  });

  it('an opened wake channel does not send the hand-off early', async () => {
    const lease = await passedOn(300);
    void later(mutex.condition('c').await(lease));
    // A waiter of another key opens the channel.
    const other = await new Holdfast(store.inner, { ...OPTIONS, clock }).mutex('j').acquire();
    void later(holdfast.mutex('j').acquire());
    await clock.advance(100);
    expect(store.seen('park')).toHaveLength(0);
    await clock.advance(3000);
    expect(store.seen('park').length).toBeGreaterThan(0);
    void other.release();
    void later(lease.release());
    await unused();
  });

  it.each([['lost'], [300]] as const)('closing rejects the wait (hand-off: %s)', async (fate) => {
    const lease = await passedOn(fate);
    const waiting = later(mutex.condition('c').await(lease));
    await settle();
    const closing = holdfast.close({ grace: 0 });
    await clock.advance(10);
    await failure(waiting, 'HOLDFAST_CLOSED');
    expect(lease.held).toBe(false);
    expect(lease.signal.aborted).toBe(true);
    store.heal();
    await clock.advance(10_000);
    await closing;
    const looker = new Holdfast(store.inner, { ...OPTIONS, clock });
    expect(await looker.inspect('k')).toBeNull();
  });

  it.each([['lost'], [300]] as const)('a release ends the wait (hand-off: %s)', async (fate) => {
    const lease = await passedOn(fate);
    const waiting = later(mutex.condition('c').await(lease));
    await settle();
    const releasing = later(lease.release());
    await clock.advance(10);
    await failure(waiting, 'HOLDFAST_LOST');
    store.heal();
    await clock.advance(5000);
    expect(await releasing).toBe('lost');
    await unused();
  });
});

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
