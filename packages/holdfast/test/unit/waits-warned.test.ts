/** Warnings of long waits and of calls that may wait for themselves; defaults of the instance. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type HoldfastWarning } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { ttl: 10_000, claimWindow: 100 };

let clock: VirtualClock;
let store: WatchedStore;
let warnings: HoldfastWarning[];
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  warnings = [];
  other = new Holdfast(store, { ...SETTINGS, clock });
});

function make(options: HoldfastOptions = {}): Holdfast {
  const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
  return new Holdfast(store, { ...SETTINGS, clock, onWarning, ...options });
}

async function advance(ms: number): Promise<void> {
  await clock.advance(ms);
  // the texts are loaded with the first warning
  await vi.dynamicImportSettled();
  await settle();
}

async function soon<T>(promise: Promise<T>): Promise<T> {
  await clock.advance(10);
  return promise;
}

describe('a long wait', () => {
  it('of candidates in an election is not told; that of another call is', async () => {
    const one = make({ longWait: 1000 });
    const leader = await soon(one.election('k').campaign());
    for (const by of [one, make({ longWait: 1000 })]) void later(by.election('k').campaign());
    await advance(30_000);
    expect([leader.leads, warnings]).toEqual([true, []]);
    void later(one.mutex('k').acquire());
    await advance(30_000);
    expect(warnings).toMatchObject([{ key: 'k' }]);
  });

  it('is told once for each call, and not before `longWait`', async () => {
    const one = make({ longWait: 2000 });
    await soon(other.mutex('k').acquire());
    void later(one.mutex('k').acquire());
    await advance(1900);
    expect(warnings).toEqual([]);
    await advance(300);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_LONG_WAIT', key: 'k' }]);
    expect(warnings[0]?.message).toMatch(/^Holdfast: a call has waited 2\.\d s for "k"$/u);
    await advance(20_000);
    expect(warnings).toHaveLength(1);
  });

  it.each([
    ['a semaphore', (h: Holdfast) => h.semaphore('k', { permits: 1 })],
    ['a fair mutex', (h: Holdfast) => h.mutex('k', { fair: true })],
    ['a write lock', (h: Holdfast) => h.rwLock('k').write],
  ])('is told for %s', async (_, lock) => {
    await soon(lock(other).acquire());
    void later(lock(make()).acquire());
    await advance(4000);
    expect(warnings.map(({ code }) => code)).toEqual(['HOLDFAST_LONG_WAIT']);
  });

  it('of many calls is told at most once in that time', async () => {
    const one = make({ longWait: 1000 });
    await soon(other.mutex('k').acquire());
    for (let n = 0; n < 50; n++) void later(one.mutex('k', { fair: true }).acquire());
    await advance(1900);
    expect(warnings).toHaveLength(1);
  });

  it('is not told with `longWait: Infinity`', async () => {
    await soon(other.mutex('k').acquire());
    void later(make({ longWait: Infinity }).mutex('k').acquire());
    await advance(60_000);
    expect(warnings).toEqual([]);
  });
});

describe('a call that waits for itself', () => {
  it('in a nested run is told what to do', async () => {
    const mutex = make().mutex('k');
    void later(mutex.run(() => mutex.run(() => undefined)));
    await advance(4000);
    expect(warnings).toMatchObject([{ code: 'HOLDFAST_SELF_WAIT', key: 'k' }]);
    expect(warnings[0]?.message).toContain('use mutex(key, { reentrant: true })');
  });

  it('in a nested run of a semaphore is told too', async () => {
    const semaphore = make().semaphore('k', { permits: 1 });
    void later(semaphore.run(() => semaphore.run(() => undefined)));
    await advance(4000);
    expect(warnings.map(({ code }) => code)).toEqual(['HOLDFAST_SELF_WAIT']);
  });

  it('of two tasks that hold a lock each is told for both', async () => {
    const one = make();
    const both = async (first: string, second: string): Promise<void> => {
      const outer = await one.mutex(first).acquire();
      await new Promise<void>((resolve) => clock.after(10, () => resolve()));
      await one.mutex(second).run(() => undefined);
      await outer.release();
    };
    void later(both('a', 'b'));
    void later(both('b', 'a'));
    await advance(8000);
    expect(warnings.map(({ code }) => code)).toEqual(['HOLDFAST_SELF_WAIT', 'HOLDFAST_SELF_WAIT']);
    expect(new Set(warnings.map(({ key }) => key))).toEqual(new Set(['a', 'b']));
    expect(warnings[0]?.message).toContain('acquire both with allOf');
  });

  it('is not taken for one if the holders of the process take turns', async () => {
    const one = make();
    const work = (): Promise<void> =>
      new Promise((resolve) => {
        clock.after(500, () => resolve());
      });
    for (let n = 0; n < 20; n++) void later(one.mutex('k').run(work));
    await advance(12_000);
    expect(new Set(warnings.map(({ code }) => code))).toEqual(new Set(['HOLDFAST_LONG_WAIT']));
  });
});

describe('the defaults of the instance', () => {
  const asked = (): object | undefined => store.seen('acquire').at(-1);

  it.each([
    ['a mutex', (h: Holdfast) => h.mutex('k')],
    ['a semaphore', (h: Holdfast) => h.semaphore('k', { permits: 1 })],
    ['a write lock', (h: Holdfast) => h.rwLock('k').write],
    ['several keys', (h: Holdfast) => h.allOf(['j', 'k'])],
  ])('limit the wait for %s', async (_, lock) => {
    await soon<unknown>(lock(other).acquire());
    const one = make({ wait: 300 });
    const waiting = lock(one)
      .acquire()
      .catch((error: unknown) => error);
    await clock.advance(400);
    expect(await waiting).toMatchObject({ code: 'HOLDFAST_TIMEOUT' });
  });

  it('are overridden by the lock, and by the call', async () => {
    const one = make({ wait: 300, fair: true, maxHold: 2000 });
    await soon(one.mutex('a').acquire());
    expect(asked()).toMatchObject({ fair: true, ttl: 2000 });
    await soon(one.mutex('b', { fair: false, maxHold: 5000 }).acquire());
    expect(asked()).toMatchObject({ fair: false, ttl: 5000 });
    await soon(one.mutex('c').acquire({ fair: false, maxHold: 700 }));
    expect(asked()).toMatchObject({ fair: false, ttl: 700 });
    // a lock without renewal has no `maxHold`
    await soon(one.mutex('d', { renew: false }).acquire());
    expect(asked()).toMatchObject({ fair: true, ttl: 10_000 });
  });

  it('do not limit leaders, schedules and owners', async () => {
    const one = make({ maxHold: 2000 });
    await soon(one.election('e').campaign());
    expect(asked()).toMatchObject({ ttl: 10_000 });
    await soon(one.ownerLocks.lock('o', 'me', 5000));
    expect(asked()).toMatchObject({ ttl: 5000 });
  });

  it('keep the own options of a mutex in `allOf`', async () => {
    const one = make({ fair: true });
    await soon(one.allOf([one.mutex('a', { fair: false })]).acquire());
    expect(asked()).toMatchObject({ fair: false });
    await soon(one.allOf(['b']).acquire());
    expect(asked()).toMatchObject({ fair: true });
  });

  it.each([
    ['wait', -1],
    ['fair', 'yes'],
    ['maxHold', 1],
    ['longWait', 0],
    ['onWarning', 'log'],
  ])('refuse a bad %s', (option, value) => {
    expect(() => make({ [option]: value })).toThrow(expect.objectContaining({ option }));
  });
});
