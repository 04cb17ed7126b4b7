/** Options that are `undefined` or `null`, and numbers at the limits of their ranges. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Acquire } from '../../src/engine/commands.js';
import { systemClock } from '../../src/base/clock.js';
import { Holdfast, locked, memory } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const LOCK = [
  ...[
    'ttl',
    'renew',
    'maxHold',
    'fair',
    'sharedBy',
    'label',
    'wait',
    'onExpiring',
    'expiringBefore',
  ],
];
const ACQUIRE = [...LOCK, 'signal'];

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock });
});

/** A call that takes options, and the names of its options. */
type Taking = [name: string, call: (options: never) => unknown, options: readonly string[]];

const TAKING: readonly Taking[] = [
  ['mutex', (o) => holdfast.mutex('k', o), [...LOCK, 'reentrant']],
  ['acquire', (o) => holdfast.mutex('k').acquire(o), ACQUIRE],
  ['tryAcquire', (o) => holdfast.mutex('k').tryAcquire(o), ACQUIRE],
  ['run', (o) => holdfast.mutex('k').run(() => 1, o), ACQUIRE],
  ['allOf', (o) => holdfast.allOf(['k'], o), LOCK],
  ['allOf.acquire', (o) => holdfast.allOf(['k']).acquire(o), ACQUIRE],
  ['rwLock', (o) => holdfast.rwLock('k', o), LOCK],
  ['semaphore', (o) => holdfast.semaphore('k', over({ permits: 1 }, o)), [...LOCK, 'permits']],
  [
    'semaphore.run',
    (o) => holdfast.semaphore('k', { permits: 1 }).run(() => 1, o),
    [...ACQUIRE, 'permits'],
  ],
  ['election', (o) => holdfast.election('k', o), ['ttl', 'label', 'onExpiring', 'expiringBefore']],
  ['campaign', (o) => holdfast.election('k').campaign(o), ['wait', 'signal']],
  [
    'lead',
    (o) => holdfast.election('k').lead(() => 1, over({ signal: AbortSignal.abort() }, o)),
    ['signal', 'pause', 'onFailure'],
  ],
  ['observe', (o) => holdfast.election('k').observe(o), ['signal', 'every']],
  [
    'ownerLocks.lock',
    (o) => holdfast.ownerLocks.lock('k', 'me', 500, o),
    ['fair', 'label', 'wait', 'renew'],
  ],
  [
    'schedule',
    (o) => holdfast.schedule('k', over({ atLeast: 0 }, o)),
    ['atLeast', 'atMost', 'retention', 'afterFailure', 'ttl', 'label'],
  ],
  [
    'runOnce',
    (o) => holdfast.schedule('k', { atLeast: 0 }).runOnce(() => 1, o),
    ['slot', 'wait', 'signal'],
  ],
  ['singleFlight', (o) => holdfast.singleFlight('k', o), ['ttl', 'maxHold', 'label']],
  ['do', (o) => holdfast.singleFlight('k').do(() => 1, o), ['wait', 'signal']],
  ['latch', (o) => holdfast.latch('k', over({ count: 1 }, o)), ['count', 'ttl', 'retention']],
  ['barrier', (o) => holdfast.barrier('k', over({ parties: 1 }, o)), ['parties', 'ttl']],
  ['barrier.await', (o) => holdfast.barrier('k', { parties: 1 }).await(o), ['wait', 'signal']],
  ['forceRelease', (o) => holdfast.forceRelease('k', o), ['id']],
  ['close', (o) => holdfast.close(o), ['grace']],
  [
    'Holdfast',
    (o) => new Holdfast(memory(), o),
    [
      ...['prefix', 'ttl', 'renew', 'claimWindow', 'requestTimeout', 'unreachableAfter'],
      ...['maxQueue', 'localHandOffs', 'retention', 'linger', 'label', 'closeOnSignals'],
      ...['grace', 'clock'],
    ],
  ],
  ['locked', (o) => lockedWork(o)(), ACQUIRE],
];

function over(defaults: object, options: object | null): never {
  if (options === null) return null as never;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as never;
}

function lockedWork(options: never): () => Promise<unknown> {
  const { value } = locked(holdfast, 'k', options)({}, 'work', { value: async () => 1 });
  return value as () => Promise<unknown>;
}

/** Required options: `undefined` is refused too. */
const NEEDED = new Set(['permits', 'atLeast', 'count', 'parties']);

describe.each(TAKING)('%s', (name, call, options) => {
  const attempt = async (given: unknown): Promise<unknown> => {
    const calling = later((async () => call(given as never))());
    await clock.advance(50);
    return calling;
  };

  it('refuses null as its options', async () => {
    const error = await failure(attempt(null), 'HOLDFAST_BAD_OPTION');
    expect(error.option).toBe('options');
  });

  it.each(options)('refuses null for %s, by name', async (option) => {
    const error = await failure(attempt({ [option]: null }), 'HOLDFAST_BAD_OPTION');
    expect(error.option).toBe(option);
    expect(error.message).toContain('null');
    expect(store.batches).toEqual([]);
  });

  const free = options.filter((option) => !NEEDED.has(option) || name === 'semaphore.run');
  it.each(free)('treats undefined for %s as not given', async (option) => {
    await attempt({ [option]: undefined });
  });
});

describe('an undefined option of an acquisition', () => {
  const asked = (): Acquire => store.seen('acquire').at(-1) as Acquire;

  it('keeps the option of the lock', async () => {
    const mutex = holdfast.mutex('k', { ttl: 5000, sharedBy: 'me', fair: true });
    void mutex.acquire({ ttl: undefined, sharedBy: undefined, fair: undefined });
    await clock.advance(1);
    expect(asked()).toMatchObject({ ttl: 5000, owner: 'me', fair: true });
  });

  it('keeps the options of `allOf` and of its mutexes', async () => {
    const mutex = holdfast.mutex('k', { ttl: 4000 });
    void holdfast
      .allOf([mutex], { sharedBy: 'me' })
      .acquire({ ttl: undefined, sharedBy: undefined });
    await clock.advance(1);
    expect(asked()).toMatchObject({ ttl: 4000, owner: 'me' });
  });

  it('keeps the default of `ownerLocks.lock`, which is not to renew', async () => {
    await holdfast.ownerLocks.lock('k', 'me', 1000, { renew: undefined });
    await clock.advance(5000);
    const looking = holdfast.inspect('k');
    await clock.advance(1);
    expect(await looking).toBeNull();
  });
});

describe('a required number', () => {
  it.each(['extend', 'ensure'] as const)('%s refuses undefined', async (method) => {
    const lease = await holdfast.mutex('k').acquire();
    const all = await holdfast.allOf(['j']).acquire();
    for (const one of [lease, all]) {
      const error = await failure(one[method](undefined as never), 'HOLDFAST_BAD_OPTION');
      expect(error.option).toBe('ms');
    }
  });
});

describe('a wait of more than 2^31 ms', () => {
  it('does not end early', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const ended = vi.fn<() => void>();
      const cancelled = vi.fn<() => void>();
      const month = 2 ** 31 + 86_400_000;
      systemClock.after(month, ended);
      systemClock.after(2 * month, cancelled).cancel();
      const long = systemClock.after(2 * month, cancelled);
      vi.advanceTimersByTime(2 ** 31);
      expect(ended).not.toHaveBeenCalled();
      vi.advanceTimersByTime(86_400_000);
      expect(ended).toHaveBeenCalledOnce();
      long.cancel();
      vi.advanceTimersByTime(3 * month);
      expect(cancelled).not.toHaveBeenCalled();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('memory()', () => {
  it('separates different prefixes, and shares the keys of the same prefix', async () => {
    const shared = memory();
    const [one, same, other] = ['a:', 'a:', 'b:'].map((prefix) => new Holdfast(shared, { prefix }));
    const lease = await one?.mutex('k').acquire();
    expect(await same?.mutex('k').tryAcquire()).toBeNull();
    expect((await other?.mutex('k').tryAcquire())?.held).toBe(true);
    expect((await other?.forceRelease('k'))?.ended).toBe(1);
    expect(lease?.held).toBe(true);
    const listed: string[] = [];
    for await (const { key } of other?.list() ?? []) listed.push(key);
    expect(listed).toEqual([]);
    await lease?.release();
    for (const each of [one, same, other]) await each?.close({ grace: 0 });
  });
});

describe('slow replies', () => {
  it.each(['extend', 'ensure'] as const)('%s counts from its reply', async (method) => {
    const lease = await holdfast.mutex('k').acquire({ ttl: 3000 });
    store.fate = () => 600;
    const extending = lease[method](5000);
    await clock.advance(10_000);
    const left = await extending;
    expect(left).toBeGreaterThanOrEqual(5000);
  });

  it('an extension reports that it failed', async () => {
    const lease = await holdfast.mutex('k').acquire({ ttl: 60_000 });
    let delay = 50;
    store.fate = () => (delay *= 3);
    const extending = later(lease.extend(59_900));
    await clock.advance(5000);
    const end = await extending.catch((error: unknown) => error);
    if (typeof end === 'number') expect(end).toBeGreaterThanOrEqual(59_900);
    else expect(end).toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
    expect(lease.held).toBe(true);
  });

  it.each([undefined, 5000])(
    'refuses a ttl that expires before any reply (wait: %s)',
    async (wait) => {
      store.fate = () => 40;
      const options = { ttl: 20, ...(wait !== undefined && { wait }) };
      const acquiring = later(holdfast.mutex('k').acquire(options));
      await clock.advance(4000);
      const error = await failure(acquiring, 'HOLDFAST_UNREACHABLE');
      expect(error.message).toContain('ttl');
      expect(error.message).toContain('20 ms');
      store.heal();
      await clock.advance(1000);
      const looking = holdfast.inspect('k');
      await clock.advance(1);
      expect(await looking).toBeNull();
    },
  );
});
