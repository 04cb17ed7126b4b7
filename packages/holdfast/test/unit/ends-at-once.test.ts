/** An abort and a close end calls that hold nothing at once, also if the store does not answer. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type LostLease } from '../../src/index.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

type Call = (holdfast: Holdfast, signal: AbortSignal) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  whenFree: (one, signal) => one.mutex('k').whenFree({ signal }),
  whenPermits: (one, signal) => one.semaphore('s', { permits: 1 }).whenPermits(2, { signal }),
  drain: (one, signal) => one.semaphore('s', { permits: 1 }).drain({ signal }),
  runOnce: (one, signal) =>
    one.schedule('t', { atLeast: 0 }).runOnce(() => 1, { slot: 'a', signal }),
};

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;
const lost: LostLease[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  lost.length = 0;
  holdfast = new Holdfast(store, { clock, onLost: (one) => lost.push(one) });
});

describe.each(Object.entries(CALLS))('%s, while the store does not answer,', (_, call) => {
  it.each(['HOLDFAST_ABORTED', 'HOLDFAST_CLOSED'])('rejects at once with %s', async (code) => {
    store.fate = () => 'lost';
    const stop = new AbortController();
    let seen: unknown;
    call(holdfast, stop.signal).catch((error: { code: string }) => (seen = error.code));
    await settle();
    expect(seen).toBeUndefined();
    if (code === 'HOLDFAST_ABORTED') stop.abort();
    else void holdfast.close();
    await settle();
    expect(seen).toBe(code);
    await clock.advance(60_000);
    expect(holdfast.core.closers).toBe(0);
  });
});

/** How many commands of a kind are answered before the store is silent. */
type Silent = readonly [op: 'inspect' | 'acquire' | 'renew', answered: number];

describe('runOnce ends at once while the store is silent', () => {
  const work = vi.fn<() => number>();
  let other: Holdfast;

  beforeEach(() => {
    work.mockClear();
    other = new Holdfast(store.inner, { clock });
  });

  const silence = ([op, answered]: Silent): void => {
    let left = answered;
    store.fate = (command) => (command.op === op && left-- <= 0 ? 'answer lost' : 'answered');
  };

  /** Resolves when nothing of the call is held, so that another call of the slot runs. */
  const ends = async (slot: string | undefined, silent: Silent, code: string): Promise<void> => {
    silence(silent);
    const stop = new AbortController();
    let seen: unknown;
    const options = { signal: stop.signal, ...(slot !== undefined && { slot }) };
    const running = holdfast.schedule('k', { atLeast: 20_000 }).runOnce(work, options);
    running.catch((error: { code: string }) => (seen = error.code));
    await clock.advance(50);
    expect(seen).toBeUndefined();
    if (code === 'HOLDFAST_ABORTED') stop.abort();
    else void holdfast.close();
    await settle();
    expect(seen).toBe(code);
    store.heal();
    await clock.advance(20_000);
    expect(work).not.toHaveBeenCalled();
    expect(holdfast.core.closers).toBe(0);
    expect(holdfast.stats().held).toBe(0);
  };

  describe.each(['HOLDFAST_ABORTED', 'HOLDFAST_CLOSED'])('with %s', (code) => {
    it.each([
      ['who holds', undefined, ['inspect', 0]],
      ['whether the slot is about to be taken', 's', ['inspect', 1]],
    ] as const)('reading %s', async (_, slot, silent) => {
      const lease = await other.mutex('k').acquire({ fair: true });
      await ends(slot, silent, code);
      expect(lease.held).toBe(true);
      expect(await lease.release()).toBe('freed');
    });

    it('reading the state of a taken slot', async () => {
      await other.schedule('k', { atLeast: 0 }).runOnce(() => 1, { slot: 's' });
      await ends('s', ['inspect', 1], code);
    });

    it.each([
      ['taking the slot', ['acquire', 1]],
      ['keeping the lock for atLeast', ['renew', 0]],
    ] as const)('%s, and nothing stays held', async (_, silent) => {
      await ends('s', silent, code);
      const again = await other.schedule('k', { atLeast: 0 }).runOnce(() => 2, { slot: 's' });
      expect(again).toMatchObject({ ran: true, value: 2 });
    });
  });
});

it('a close without a grace ends a waiting allOf, and no lease of it counts as lost', async () => {
  const other = new Holdfast(store.inner, { clock });
  const blocker = await other.mutex('b').acquire();
  let seen: unknown;
  const waiting = holdfast.allOf(['a', 'b']).acquire();
  waiting.catch((error: { code: string }) => (seen = error.code));
  await clock.advance(100);
  expect(await other.mutex('a').isLocked()).toBe(true);
  const closing = holdfast.close({ grace: 0 });
  await clock.advance(10_000);
  await closing;
  expect(seen).toBe('HOLDFAST_CLOSED');
  expect(lost).toEqual([]);
  expect(await other.mutex('a').isLocked()).toBe(false);
  expect(blocker.held).toBe(true);
});
