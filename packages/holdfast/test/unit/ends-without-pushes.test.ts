/**
 * How a wait of a single flight and of several locks ends while no push can reach the process: with
 * one more question to the store, and its reply.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type HoldfastError } from '../../src/index.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

/** Without pushes a process polls after a quarter of the claim window, so after 250 ms. */
const SETTINGS = { ttl: 10_000, claimWindow: 1000, requestTimeout: 2000 };
const WAIT = 200;

interface Ended {
  readonly how: unknown;
  readonly error: HoldfastError | undefined;
  readonly after: number;
}

let clock: VirtualClock;
let store: WatchedStore;
let holder: Holdfast;
let caller: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  store.pushes = false;
  holder = new Holdfast(store, { ...SETTINGS, clock });
  caller = new Holdfast(store, { ...SETTINGS, clock });
});

function ending(promise: Promise<unknown>): { ended: Ended | undefined } {
  const start = clock.now();
  const seen: { ended: Ended | undefined } = { ended: undefined };
  promise.then(
    (how) => (seen.ended = { how, error: undefined, after: clock.now() - start }),
    (error: HoldfastError) => (seen.ended = { how: error.code, error, after: clock.now() - start }),
  );
  return seen;
}

describe('a single flight', () => {
  let cached: string | undefined;
  const fresh = (): string | undefined => cached;

  beforeEach(() => {
    cached = undefined;
  });

  /** Another process computes for `ms`, with this result. */
  async function computed(by: Holdfast, ms: number, result: string | undefined): Promise<void> {
    const compute = async (): Promise<string> => {
      await new Promise<void>((resolve) => {
        clock.after(ms, resolve, true);
      });
      cached = result;
      return 'computed';
    };
    void by.singleFlight('k').run({ fresh, compute });
    await clock.advance(0);
  }

  const waits = (wait: number): ReturnType<typeof ending> =>
    ending(caller.singleFlight('k').run({ fresh, compute: () => 'by the caller' }, { wait }));

  it('finds the result if the computation has ended', async () => {
    await computed(holder, 50, 'result');
    const seen = waits(WAIT);
    await clock.advance(WAIT);
    expect(seen.ended).toMatchObject({ how: 'result', after: WAIT });
  });

  it('ends if the computation goes on, and asks for no other caller', async () => {
    await computed(holder, 5000, 'result');
    const others = waits(6000);
    await clock.advance(10);
    const before = store.seen('acquire').length;
    const seen = waits(WAIT - 10);
    await clock.advance(WAIT - 10);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_TIMEOUT', after: WAIT - 10 });
    expect(store.seen('acquire').length).toBe(before + 1);
    await clock.advance(6000);
    expect(others.ended?.how).toBe('result');
  });

  it('awaits that reply, and reports a silent store', async () => {
    await computed(holder, 5000, 'result');
    const seen = waits(WAIT);
    await clock.advance(50);
    store.fate = () => 'lost';
    await clock.advance(WAIT);
    expect(seen.ended).toBeUndefined();
    await clock.advance(2000);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_UNREACHABLE' });
  });

  it('computes if the computation of the caller before it has ended', async () => {
    const second = new Holdfast(store, { ...SETTINGS, clock });
    await computed(holder, 50, undefined);
    store.pushes = true;
    await computed(second, 30, undefined);
    await clock.advance(10);
    store.pushes = false;
    // at its first poll it gives its seat back, the second computes, and it is a candidate
    const seen = waits(300);
    await clock.advance(299);
    expect(seen.ended).toBeUndefined();
    await clock.advance(1);
    expect(seen.ended).toMatchObject({ how: 'by the caller', after: 300 });
  });

  it('asks nothing more while pushes arrive', async () => {
    store.pushes = true;
    await computed(holder, 5000, 'result');
    const seen = waits(WAIT);
    await clock.advance(50);
    const before = store.seen('acquire').length;
    await clock.advance(WAIT);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_TIMEOUT', after: WAIT });
    expect(store.seen('acquire').length).toBe(before);
  });
});

describe('several locks', () => {
  const ROUND_TRIP = 40;
  const KEYS = Array.from({ length: 60 }, (_, index) => `key:${100 + index}`);

  async function held(key: string, ms: number): Promise<void> {
    const lease = await clock.until(holder.mutex(key).acquire());
    clock.after(ms, () => void lease.release(), true);
  }

  const waits = (): ReturnType<typeof ending> => {
    store.fate = () => ROUND_TRIP;
    return ending(
      caller
        .allOf(KEYS)
        .acquire({ wait: WAIT })
        .then(() => 'all'),
    );
  };

  it('asks for those behind the awaited one in one more turn', async () => {
    await held('key:100', 100);
    const seen = waits();
    await clock.advance(1000);
    expect(seen.ended).toMatchObject({ how: 'all', after: WAIT + 2 * ROUND_TRIP });
  });

  it('ends with the key behind the awaited one that is held', async () => {
    await held('key:100', 100);
    await held('key:150', 5000);
    const seen = waits();
    await clock.advance(1000);
    expect(seen.ended).toMatchObject({ how: 'HOLDFAST_TIMEOUT', after: WAIT + 2 * ROUND_TRIP });
    expect(seen.ended?.error?.key).toBe('key:150');
  });

  it('awaits replies that are under way at the end of the wait', async () => {
    store.pushes = true;
    await held('key:100', WAIT - 20);
    const seen = waits();
    await clock.advance(1000);
    expect(seen.ended?.how).toBe('all');
    expect(seen.ended?.after).toBeLessThanOrEqual(WAIT + 2 * ROUND_TRIP);
  });
});
