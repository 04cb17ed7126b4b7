/** Bad options are refused by name, before a command is sent. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type AcquireOptions,
  Holdfast,
  type HoldfastOptions,
  type Lease,
  memory,
  type MutexOptions,
} from '../../src/index.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

type Row = readonly [option: string, ...values: unknown[]];

const SURROGATE = 'a\ud800b';
const NOT_NUMBERS = ['5', null, true, {}, [], 5n, Number.NaN, () => 5];
/** Values outside a duration's range from `min` to `max`. */
const durations = (min: number, max: number): unknown[] => [
  ...NOT_NUMBERS,
  ...[min - 0.001, max + 0.001, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
];
const wholes = (min: number, max: number): unknown[] => [
  ...NOT_NUMBERS,
  ...[min - 1, max + 1, min + 0.5, Number.POSITIVE_INFINITY],
];
const texts = (max: number): unknown[] => ['x'.repeat(max + 1), SURROGATE, '\udc00', 5, null, {}];
const FLAGS = ['true', 0, 1, null, {}];
const DAY = 86_400_000;

const LOCK_ROWS: readonly Row[] = [
  ['ttl', ...durations(10, DAY)],
  ['renew', ...FLAGS],
  ['maxHold', ...durations(10, DAY)],
  ['fair', ...FLAGS],
  ['sharedBy', '', ...texts(200)],
  ['label', ...texts(200)],
  ['onExpiring', 'f', 5, null, {}],
  ['expiringBefore', ...durations(1, 10_000)],
  ['waitt', 5],
  ['Ttl', 100],
  ['toString', 1],
];

const HOLDFAST_ROWS: readonly Row[] = [
  ['prefix', ...texts(100), 'app{eu}:', '{', '}', 'a\n', '\0', '\x7f', '\x9b'],
  ['ttl', ...durations(10, DAY)],
  ['renew', ...FLAGS],
  ['claimWindow', ...durations(20, 60_000)],
  ['requestTimeout', ...durations(1, 600_000)],
  ['unreachableAfter', ...durations(1, DAY)],
  ['maxRequests', ...wholes(1, 1_000_000)],
  ['maxQueue', ...wholes(1, 1_000_000)],
  ['localHandOffs', ...wholes(0, 1000)],
  ['replicas', ...wholes(0, 100)],
  ['retention', ...durations(1000, DAY)],
  ['linger', ...durations(0, DAY)],
  ['label', ...texts(200)],
  ['closeOnSignals', 'SIGTERM', [5], ['SIGNOTHING'], 5, null],
  // the test runs in a worker thread
  ['closeOnSignals', ['SIGTERM']],
  ['grace', ...durations(0, DAY)],
  ['clock', null, 5, {}, { now: () => 1 }],
  ['wait', ...NOT_NUMBERS, -1],
  ['fair', ...FLAGS],
  ['maxHold', ...durations(10, DAY)],
  ['longWait', ...NOT_NUMBERS, 0],
  ['onWarning', 'f', 5, null, {}],
  ['ttll', 5],
  ['sharedBy', 'me'],
  ['constructor', 5],
];

const ACQUIRE_ROWS: readonly Row[] = [
  ...LOCK_ROWS,
  ['wait', ...NOT_NUMBERS, -1, -0.001, Number.NEGATIVE_INFINITY, 2 ** 60],
  ['signal', 5, null, {}, { aborted: true }],
];

let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  store = new WatchedStore(new VirtualClock());
  holdfast = new Holdfast(store);
});

function errorOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

const bad = (option: string): object => ({
  name: 'HoldfastError',
  code: 'HOLDFAST_BAD_OPTION',
  option,
});

/** Each value of each row as a separate case. */
function each(rows: readonly Row[]): [string, string, unknown][] {
  return rows.flatMap(([option, ...values]) =>
    values.map((value): [string, string, unknown] => [option, shown(value), value]),
  );
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 30 ? `${text.slice(0, 30)}…` : text;
}

describe('Holdfast refuses', () => {
  it.each(each(HOLDFAST_ROWS))('%s: %s', (option, _, value) => {
    const options = { [option]: value } as HoldfastOptions;
    expect(errorOf(() => new Holdfast(store, options))).toMatchObject(bad(option));
    expect(store.batches).toEqual([]);
  });

  it.each([null, 5, 'options'])('%j as options', (options) => {
    const error = errorOf(() => new Holdfast(store, options as unknown as HoldfastOptions));
    expect(error).toMatchObject(bad('options'));
  });

  it('replicas with a store that has none', () => {
    const error = errorOf(() => new Holdfast(store, { replicas: 1 }));
    expect(error).toMatchObject(bad('replicas'));
    expect(errorOf(() => new Holdfast(store, { replicas: 0 }))).toBeUndefined();
  });

  it('a retention shorter than three claim windows', () => {
    const error = errorOf(() => new Holdfast(store, { retention: 2999, claimWindow: 1000 }));
    expect(error).toMatchObject(bad('retention'));
    expect(() => new Holdfast(store, { retention: 3000, claimWindow: 1000 })).not.toThrow();
  });

  it.each([undefined, null, 5, 'redis://x', {}, [], [memory()], () => 1])(
    '%o as a store',
    (where) => {
      expect(errorOf(() => new Holdfast(where as never))).toMatchObject(bad('where'));
    },
  );
});

describe('mutex refuses', () => {
  it.each(each([...LOCK_ROWS, ['reentrant', ...FLAGS], ['signal', 5]]))(
    '%s: %s',
    (option, _, value) => {
      const options = { [option]: value } as MutexOptions;
      expect(errorOf(() => holdfast.mutex('k', options))).toMatchObject(bad(option));
    },
  );

  it.each([
    '',
    'x'.repeat(1025),
    'é'.repeat(513),
    SURROGATE,
    '\udfff',
    5,
    null,
    undefined,
    {},
    ['k'],
  ])('the key %j', (key) => {
    expect(errorOf(() => holdfast.mutex(key as string))).toMatchObject(bad('key'));
  });

  it.each(['k', ' ', '}', '{', '\\', '\0', 'é'.repeat(512), '😀', 'x'.repeat(1024)])(
    'not the valid key %j',
    async (key) => {
      const lease = await holdfast.mutex(key).acquire();
      expect(lease.key).toBe(key);
      await lease.release();
    },
  );
});

describe.each(['acquire', 'tryAcquire', 'run'] as const)('%s refuses', (method) => {
  const call = (options: AcquireOptions): Promise<unknown> => {
    const mutex = holdfast.mutex('k');
    return method === 'run' ? mutex.run(() => 1, options) : mutex[method](options);
  };

  it.each(each([...ACQUIRE_ROWS, ['reentrant', true]]))('%s: %s', async (option, _, value) => {
    await expect(call({ [option]: value })).rejects.toMatchObject(bad(option));
    expect(store.batches).toEqual([]);
  });

  it.each([
    ['maxHold', { renew: false, maxHold: 1000 }],
    ['expiringBefore', { ttl: 1000, expiringBefore: 1001 }],
    ['expiringBefore', { ttl: 5000, maxHold: 1000, expiringBefore: 1001 }],
  ])('a contradiction: %s in %j', async (option, options) => {
    await expect(call(options)).rejects.toMatchObject(bad(option));
    expect(store.batches).toEqual([]);
  });

  it.each([null, 5, 'x'])('%j as options', async (options) => {
    const promise = call(options as unknown as AcquireOptions);
    await expect(promise).rejects.toMatchObject(bad('options'));
  });
});

describe('other calls refuse', () => {
  it.each([
    ['a key to inspect', 'key', () => holdfast.inspect('')],
    ['a pattern to list', 'pattern', () => holdfast.list('').next()],
    ['options to list', 'options', () => holdfast.list('q', null as never).next()],
    ['a key to release by force', 'key', () => holdfast.forceRelease(SURROGATE)],
    ['an id', 'id', () => holdfast.forceRelease('k', { id: '' })],
    ['an id', 'id', () => holdfast.forceRelease('k', { id: 5 as unknown as string })],
    ['an id without a root', 'id', () => holdfast.forceRelease('k', { id: '/1' })],
    ['a holder without a root', 'holder', () => holdfast.forceRelease('k', { holder: '/' })],
    ['a grace', 'grace', () => holdfast.close({ grace: -1 })],
    ['a work', 'work', () => holdfast.mutex('k').run(5 as never)],
  ])('%s', async (_, option, act) => {
    await expect((async () => act())()).rejects.toMatchObject(bad(option));
    expect(store.batches).toEqual([]);
  });

  it.each(NOT_NUMBERS.concat(-1, DAY + 1, Number.POSITIVE_INFINITY))(
    'to extend by %o',
    async (value) => {
      const lease: Lease = await holdfast.mutex('k').acquire();
      const sent = store.batches.length;
      await expect(lease.extend(value as number)).rejects.toMatchObject(bad('ms'));
      await expect(lease.ensure(value as number)).rejects.toMatchObject(bad('ms'));
      expect(store.batches).toHaveLength(sent);
    },
  );
});

describe('options', () => {
  it('are accepted at their limits', () => {
    const least = { ttl: 10, claimWindow: 20, requestTimeout: 1, unreachableAfter: 1, maxQueue: 1 };
    const none = { localHandOffs: 0, retention: 1000, linger: 0, grace: 0, label: '', prefix: '' };
    expect(() => new Holdfast(store, { ...least, ...none })).not.toThrow();
    const most = { ttl: DAY, claimWindow: 60_000, requestTimeout: 600_000, maxQueue: 1_000_000 };
    expect(
      () => new Holdfast(store, { ...most, retention: DAY, localHandOffs: 1000 }),
    ).not.toThrow();
  });

  it('have their default if undefined', async () => {
    const none = { ttl: undefined, sharedBy: undefined, wait: undefined, signal: undefined };
    const lease = await holdfast.mutex('k').acquire(none);
    expect(store.seen('acquire')).toMatchObject([{ ttl: 10_000, owner: '', queue: true }]);
    await lease.release();
  });

  it('of an acquisition override those of the mutex, then those of the Holdfast', async () => {
    const own = new Holdfast(store, { ttl: 1000, label: 'a' });
    const mutex = own.mutex('k', { ttl: 2000 });
    await (await mutex.acquire()).release();
    await (await mutex.acquire({ ttl: 3000 })).release();
    expect(store.seen('acquire').map(({ ttl }) => ttl)).toEqual([2000, 3000]);
  });

  it('are read once, when they are passed', async () => {
    const options = { ttl: 2000 };
    const mutex = holdfast.mutex('k', options);
    options.ttl = -1;
    await (await mutex.acquire()).release();
    expect(store.seen('acquire')).toMatchObject([{ ttl: 2000 }]);
  });
});

describe('fractions of milliseconds', () => {
  it('never reach the store: Redis refuses them', async () => {
    const clock = new VirtualClock();
    const store = new WatchedStore(clock);
    const fractions = { ttl: 1500.5, claimWindow: 333.3, retention: 1000.5, clockMargin: 0.5 };
    const slow = { requestTimeout: 700.7, unreachableAfter: 3000.3 };
    const [one, other] = [0, 1].map(
      () => new Holdfast(store, { clock, ...fractions, ...slow }),
    ) as [Holdfast, Holdfast];
    const mutex = one.mutex('a', { maxHold: 900_000.5 });
    const lease = await mutex.acquire();
    const waiting = other.mutex('a', { fair: true }).acquire({ wait: 20_000.5 });
    await clock.advance(2000);
    await lease.extend(3000.3);
    const woken = mutex.condition('c').await(lease, { wait: 100.5 });
    await clock.advance(50);
    await (await waiting).release();
    await clock.until(woken);
    await lease.release();
    await one.ownerLocks.lock('b', 'me', 1000.5);
    await one.ownerLocks.lock('b', 'me', 1000.7);
    const schedule = one.schedule('c', { atLeast: 100.5, atMost: 500.5, retention: 1000.5 });
    await schedule.runOnce(() => 1, { slot: 'x' });
    const latch = one.latch('l', { count: 1, ttl: 1000.5, retention: 1000.7 });
    await latch.countDown();
    await latch.delete();
    await one.barrier('p', { parties: 1, ttl: 1000.5 }).await();
    await one.forceRelease('b');
    await clock.until(Promise.all([one.close(), other.close()]));
    const names = ['ttl', 'claim', 'retention', 'patience', 'period'] as const;
    const odd = store.batches.flat().filter((command) =>
      names.some((name) => {
        const value = (command as unknown as Record<string, unknown>)[name];
        return value !== undefined && !Number.isSafeInteger(value);
      }),
    );
    expect(odd).toEqual([]);
    expect(new Set(store.batches.flat().map(({ op }) => op)).size).toBeGreaterThan(8);
  });
});
