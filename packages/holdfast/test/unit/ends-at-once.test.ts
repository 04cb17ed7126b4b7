/** An abort and a close end calls that hold nothing at once, also if the store does not answer. */
import { beforeEach, describe, expect, it } from 'vitest';
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
