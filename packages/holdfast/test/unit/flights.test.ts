/** Single flight with a virtual clock: its requests to the store, and their times. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastError, type HoldfastOptions } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

function open(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(store, { clock, ttl: 9000, ...options });
}

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = open();
});
afterEach(() => {
  store.heal();
});

const hangs = (): Promise<never> => new Promise(() => undefined);
const nothing = (): undefined => undefined;

describe('refuses bad input at the call', () => {
  const work = { fresh: nothing, compute: () => 1 };
  const run = (more: object, options = {}): unknown =>
    holdfast.singleFlight('k').run({ ...work, ...more }, options);
  const calls: [name: string, call: () => unknown, option: string][] = [
    ['a key', () => holdfast.singleFlight(''), 'key'],
    ['a ttl', () => holdfast.singleFlight('k', { ttl: 1 }), 'ttl'],
    ['an unknown option', () => holdfast.singleFlight('k', { fair: true } as object), 'fair'],
    ['no work', () => holdfast.singleFlight('k').run(undefined as never), 'work'],
    ['fresh', () => run({ fresh: 1 }), 'fresh'],
    ['compute', () => run({ compute: undefined }), 'compute'],
    ['a misspelt function', () => run({ frsh: nothing }), 'frsh'],
    ['a wait', () => run({}, { wait: -1 }), 'wait'],
    ['a signal', () => run({}, { signal: 1 }), 'signal'],
    ['an option of the lock', () => run({}, { ttl: 100 }), 'ttl'],
    ['work of do', () => holdfast.singleFlight('k').do(1 as never), 'work'],
    ['a wait of do', () => holdfast.singleFlight('k').do(() => 1, { wait: Number.NaN }), 'wait'],
  ];

  it.each(calls)('%s', async (_, call, option) => {
    const called = (async () => call())();
    expect((await failure(called, 'HOLDFAST_BAD_OPTION')).option).toBe(option);
    expect(store.batches).toEqual([]);
  });
});

describe('the callers of one process', () => {
  it('send one request to the store for all of them', async () => {
    let value: number | undefined;
    const work = {
      fresh: () => value,
      compute: async () => {
        await settle();
        value = 7;
        return value;
      },
    };
    const all = Array.from({ length: 1000 }, () => holdfast.singleFlight('k').run(work));
    expect(new Set(await Promise.all(all))).toEqual(new Set([7]));
    expect(store.seen('acquire')).toHaveLength(1);
    expect(store.seen('release')).toHaveLength(1);
    await clock.advance(20_000);
    expect(clock.timers()).toBe(0);
  });

  it('share one wait, and leave it together', async () => {
    void open().singleFlight('k').do(hangs);
    await settle();
    const all = Array.from({ length: 100 }, () =>
      later(holdfast.singleFlight('k').do(() => 1, { wait: 500 })),
    );
    await settle();
    const waiting = await holdfast.inspect('k');
    expect(waiting?.waiterCount).toBe(1);
    await clock.advance(501);
    for (const one of all) await failure(one, 'HOLDFAST_TIMEOUT');
    expect((await holdfast.inspect('k'))?.waiterCount).toBe(0);
  });
});

it('a caller whose wait ends with the first reply does not poll any more', async () => {
  void open().singleFlight('k').do(hangs);
  await settle();
  // then a waiter polls four times in a claim window
  store.pushes = false;
  store.fate = () => 20;
  const waits = later(holdfast.singleFlight('k').do(() => 1, { wait: 30 }));
  await clock.advance(100);
  await failure(waits, 'HOLDFAST_TIMEOUT');
  const before = store.seen('poll').length;
  await clock.advance(10_000);
  expect(store.seen('poll').length - before).toBe(0);
});

it('`do` computes if only the seats of waiters were in its way', async () => {
  let finish = (): void => undefined;
  const first = open()
    .singleFlight('k')
    .do(() => new Promise<void>((resolve) => (finish = resolve)));
  await settle();
  const second = open()
    .singleFlight('k')
    .do(() => 2);
  await clock.advance(10);
  // the second process gives its seat back late
  let releases = 0;
  store.fate = ({ op }) => {
    releases += Number(op === 'release');
    return op === 'release' && releases > 1 ? 'lost' : 'answered';
  };
  finish();
  expect([await first, await second]).toMatchObject([{ led: true }, { led: false }]);
  const third = holdfast.singleFlight('k').do(() => 3);
  expect(await clock.until(third)).toEqual({ led: true, value: 3 });
});

it('a close rejects those who wait for a computation of their process', async () => {
  void holdfast.singleFlight('k').do(hangs);
  await settle();
  const waits = later(holdfast.singleFlight('k').do(() => 1, { wait: 5000 }));
  await settle();
  void holdfast.close({ grace: 0 });
  await settle();
  await failure(waits, 'HOLDFAST_CLOSED');
  await clock.advance(1000);
  expect(clock.timers()).toBe(0);
});

/** A caller that waits for the end of another instance's flight. */
type Wait = (one: Holdfast) => Promise<unknown>;

/** The number of a hundred waiters that learn of an end although none hands off to the next. */
async function reached(
  first: (end: Promise<void>) => Promise<unknown>,
  wait: Wait,
): Promise<number> {
  let finish = (): void => undefined;
  const end = new Promise<void>((resolve) => {
    finish = resolve;
  });
  void first(end);
  await settle();
  let count = 0;
  for (let each = 0; each < 100; each++) {
    void wait(open()).then(() => {
      count += 1;
    });
  }
  await clock.advance(10);
  let releases = 0;
  store.fate = ({ op }) => {
    if (op !== 'release') return 'answered';
    releases += 1;
    return releases === 1 ? 'answered' : 'lost';
  };
  finish();
  await clock.advance(1);
  return count;
}

describe('the end of a flight', () => {
  it('reaches a hundred instances at once, although none hands off to the next', async () => {
    const first = (end: Promise<void>): Promise<unknown> =>
      open()
        .singleFlight('k')
        .do(() => end);
    const wait: Wait = (one) => one.singleFlight('k').do(() => 1);
    expect(await reached(first, wait)).toBe(100);
  });

  it('would reach them one after another with a mutex, and the test detects it', async () => {
    const first = (end: Promise<void>): Promise<unknown> =>
      open()
        .mutex('k')
        .run(() => end);
    const wait: Wait = (one) => one.mutex('k').run(() => 1);
    expect(await reached(first, wait)).toBeLessThanOrEqual(1);
  });

  it('is seen within a ttl if its process crashed', async () => {
    void open().singleFlight('k').do(hangs);
    await settle();
    store.ail('renew', 'lost');
    let ended: unknown;
    void holdfast
      .singleFlight('k')
      .do(() => 1)
      .then((result) => {
        ended = result;
      });
    await clock.advance(8900);
    expect(ended).toBeUndefined();
    await clock.advance(200);
    expect(ended).toEqual({ led: false });
  });

  it('by loss aborts the signal of the computing caller, which still gets its value', async () => {
    store.ail('renew', 'lost');
    let signal: AbortSignal | undefined;
    const value = holdfast.singleFlight('k').run<string>({
      fresh: nothing,
      compute: (lease) => {
        signal = lease.signal;
        return new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve('late'));
        });
      },
    });
    await clock.advance(9000);
    expect(await value).toBe('late');
    expect(signal?.reason).toMatchObject({ code: 'HOLDFAST_LOST' });
  });
});

describe('a silent store', () => {
  it('is reported to all waiting callers', async () => {
    store.ail('acquire', 'failed');
    const all = [1, 2].map(() => later(holdfast.singleFlight('k').do(() => 1)));
    await clock.advance(3000);
    for (const one of all) await failure(one, 'HOLDFAST_UNREACHABLE');
    store.heal();
    expect(await holdfast.singleFlight('k').do(() => 2)).toEqual({ led: true, value: 2 });
  });
});

describe('a computation of a caller that joined the flight of another caller', () => {
  /** The value of the second caller; the first one leaves before the store has answered. */
  async function second(
    first: (call: () => void) => unknown,
    compute: () => Promise<string>,
  ): Promise<string> {
    const stop = new AbortController();
    const flight = holdfast.singleFlight('k');
    let left: Promise<unknown> = Promise.resolve();
    first(() => {
      store.ail('acquire', 50);
      left = later(flight.do(() => undefined, { signal: stop.signal }));
    });
    await settle();
    const joined = flight.run({ fresh: nothing, compute });
    await settle();
    stop.abort();
    await failure(left, 'HOLDFAST_ABORTED');
    store.heal();
    return clock.until(joined);
  }

  it('runs in the asynchronous context of its own caller', async () => {
    const caller = new AsyncLocalStorage<string>();
    const first = (call: () => void): void => caller.run('first', call);
    const compute = async (): Promise<string> => {
      await settle();
      return caller.getStore() ?? 'none';
    };
    expect(await second(first, compute)).toBe('none');
    expect(await caller.run('second', () => second(first, compute))).toBe('second');
  });

  it('has the options of the first caller', async () => {
    const first = holdfast.singleFlight('k', { ttl: 60_000, label: 'first' });
    const stop = new AbortController();
    store.ail('acquire', 50);
    const left = later(first.do(() => undefined, { signal: stop.signal }));
    const other = holdfast.singleFlight('k', { ttl: 1000, label: 'second' });
    const joined = other.do(() => holdfast.inspect('k'));
    await settle();
    stop.abort();
    await failure(left, 'HOLDFAST_ABORTED');
    const holders = [{ label: 'first', remaining: expect.closeTo(60_000, -3) as number }];
    expect(await clock.until(joined)).toMatchObject({ led: true, value: { holders } });
  });

  it('does not enter a reentrant mutex that the first caller holds', async () => {
    const mutex = holdfast.mutex('m', { reentrant: true });
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const first = (call: () => void): unknown =>
      mutex.run(() => {
        call();
        return ended;
      });
    const compute = (): Promise<string> =>
      mutex.run(() => 'entered', { wait: 100 }).catch(({ code }: HoldfastError) => code);
    expect(await second(first, compute)).toBe('HOLDFAST_TIMEOUT');
    end();
  });
});

describe('a computation that plans the next one', () => {
  interface Inside {
    readonly outer?: Inside;
  }
  const depth = ({ outer }: Inside): number => (outer === undefined ? 1 : 1 + depth(outer));

  const ways: [way: string, plan: (next: () => void) => void][] = [
    ['after its end', (next) => void setImmediate(next)],
    ['before its end', (next) => next()],
  ];

  it.each(ways)('%s does not keep the earlier ones in memory', async (_, plan) => {
    const entered = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    let count = 0;
    const next = (): void => {
      count += 1;
      const flight = holdfast.singleFlight(`k${count}`);
      if (count <= 20) void flight.do(() => plan(next));
    };
    next();
    while (count <= 20) await settle();
    const depths = entered.mock.calls.map(([computation]) => depth(computation as Inside));
    entered.mockRestore();
    expect(depths).toHaveLength(20);
    expect(Math.max(...depths)).toBeLessThanOrEqual(2);
  });
});
