/** If a lease ends before its work, the caller gets an error with a code, never `undefined`. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const OPTIONS = { ttl: 3000, claimWindow: 1000, requestTimeout: 100 };

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { ...OPTIONS, clock });
});

/** A promise with its `resolve` function. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('a hold that `ownerLocks.unlock` released', () => {
  const owner = 'me';

  it('makes `run` reject with HOLDFAST_LOST', async () => {
    const work = (): Promise<boolean> => holdfast.ownerLocks.unlock('k', owner);
    const error = await failure(
      holdfast.mutex('k').run(work, { sharedBy: owner }),
      'HOLDFAST_LOST',
    );
    expect(error).toMatchObject({ key: 'k' });
    expect(error.message).toContain('unlock');
  });

  it('makes `allOf.run` reject with HOLDFAST_LOST', async () => {
    const work = (): Promise<boolean> => holdfast.ownerLocks.unlock('j', owner);
    const running = holdfast.allOf(['j', 'k']).run(work, { sharedBy: owner });
    expect(await failure(running, 'HOLDFAST_LOST')).toMatchObject({ key: 'j' });
    expect(await holdfast.inspect('k')).toBeNull();
  });

  it('aborts the signal of its lease at once', async () => {
    const lease = await holdfast.mutex('k').acquire({ sharedBy: owner });
    const { signal } = lease;
    const unlocking = holdfast.ownerLocks.unlock('k', owner);
    await clock.advance(1);
    expect(await unlocking).toBe(true);
    expect(lease.held).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'HOLDFAST_LOST' }));
    expect(await lease.release()).toBe('lost');
  });
});

describe('a run whose work releases its lease', () => {
  it('resolves to the result of the work', async () => {
    const work = async (lease: Lease): Promise<number> => {
      await lease.release();
      return 7;
    };
    expect(await holdfast.mutex('k').run(work)).toBe(7);
  });
});

describe.each([0, 1000])('a scheduled run that ends in doubt, kept for %i ms', (atLeast) => {
  async function doubted(): Promise<{ running: Promise<unknown>; end: () => void }> {
    const { opened, open } = gate();
    const schedule = holdfast.schedule('k', { atLeast });
    const running = later(schedule.runOnce(() => opened));
    await clock.advance(10);
    return { running, end: open };
  }

  it('resolves if the store confirms that the lock was held', async () => {
    const { running, end } = await doubted();
    store.fate = () => 20;
    clock.sleep(1500);
    end();
    await clock.advance(2000);
    expect(await running).toMatchObject({ ran: true });
  });

  it('rejects with HOLDFAST_LOST if the store reports that the lock was lost', async () => {
    const { running, end } = await doubted();
    await holdfast.forceRelease('k');
    store.fate = () => 20;
    clock.sleep(1500);
    end();
    await clock.advance(2000);
    await failure(running, 'HOLDFAST_LOST');
  });

  it('rejects with HOLDFAST_LOST if the store does not answer', async () => {
    const { running, end } = await doubted();
    store.fate = () => 'lost';
    clock.sleep(1500);
    end();
    await clock.advance(10_000);
    await failure(running, 'HOLDFAST_LOST');
  });
});

describe('a run that ends in doubt', () => {
  it.each(['lost', 20] as const)('never rejects with undefined (replies: %s)', async (fate) => {
    const { opened, open } = gate();
    const running = later(holdfast.mutex('k').run(() => opened));
    const all = later(holdfast.allOf(['a', 'b']).run(() => opened));
    await clock.advance(10);
    store.fate = () => fate;
    clock.sleep(1500);
    open();
    await clock.advance(10_000);
    const reasons = await Promise.allSettled([running, all]);
    for (const end of reasons) {
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    }
  });
});
