/** Opening the wake channel's connection ahead of time, with a virtual clock. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import type { WakeChannel, WakeListener } from '../../src/store/port.js';
import { failure } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

/** Counts its wake channels, and can refuse to open one. */
class Channels extends WatchedStore {
  open = 0;
  refuses = false;
  /** The time until it refuses. */
  pause = 0;

  override async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    if (this.pause > 0) await new Promise<void>((resolve) => void clock.after(this.pause, resolve));
    if (this.refuses) throw new Error('NOPERM this user has no permissions');
    const channel = await super.listen(name, listener);
    this.open += 1;
    const close = async (): Promise<void> => {
      this.open -= 1;
      await channel.close();
    };
    return { name: channel.name, close };
  }
}

let clock: VirtualClock;
let store: Channels;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new Channels(clock);
  holdfast = new Holdfast(store, { clock, linger: 100, claimWindow: 1000, grace: 0 });
});

describe('warmUp', () => {
  it('opens the connection, and keeps it until close', async () => {
    await holdfast.warmUp();
    await holdfast.warmUp();
    expect(store.open).toBe(1);
    await clock.advance(1_000_000);
    expect(store.open).toBe(1);
    await holdfast.close();
    expect(store.open).toBe(0);
  });

  it('lets the first request name the channel', async () => {
    await holdfast.warmUp();
    const other = new Holdfast(store.inner, { clock });
    await other.mutex('k').acquire();
    void holdfast
      .mutex('k')
      .acquire()
      .catch(() => undefined);
    await clock.advance(500);
    const asked = store.seen('acquire');
    expect(asked.map(({ channel }) => channel !== '')).toEqual([true]);
    await holdfast.close();
  });

  it('rejects with the cause of a failure, and keeps trying', async () => {
    store.refuses = true;
    const error = await failure(holdfast.warmUp(), 'HOLDFAST_UNREACHABLE');
    expect(error.message).toContain('NOPERM');
    expect(error.cause).toBeInstanceOf(Error);
    store.refuses = false;
    await clock.advance(10_000);
    expect(store.open).toBe(1);
    await holdfast.warmUp();
    await holdfast.close();
  });

  it('ends when the instance closes', async () => {
    store.pushes = false;
    const warming = failure(holdfast.warmUp(), 'HOLDFAST_CLOSED');
    await clock.until(holdfast.close());
    await clock.until(warming);
    expect(clock.now()).toBeLessThan(6000);
    expect(clock.timers()).toBe(0);
  });

  it('stops waiting after unreachableAfter', async () => {
    store.pushes = false;
    const warming = failure(holdfast.warmUp(), 'HOLDFAST_UNREACHABLE');
    await clock.advance(10_000);
    await warming;
  });

  it('is refused on a closed instance', async () => {
    await holdfast.close();
    await failure(holdfast.warmUp(), 'HOLDFAST_CLOSED');
    expect(store.open).toBe(0);
  });
});

it('a close leaves no timer of a connection that was refused after a waiter left', async () => {
  const lasting = new Holdfast(store, { clock, linger: 30_000 });
  const other = new Holdfast(store.inner, { clock });
  const lease = await other.mutex('k').acquire();
  store.refuses = true;
  store.pause = 500;
  await clock.until(lasting.mutex('k').tryAcquire({ wait: 300 }));
  await clock.until(lasting.mutex('k').tryAcquire({ wait: 3000 }));
  await lease.release();
  await clock.until(Promise.all([lasting.close(), other.close()]));
  expect(clock.timers()).toBe(0);
});
