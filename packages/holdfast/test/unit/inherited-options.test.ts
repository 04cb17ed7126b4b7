/** Options that an object inherits are refused by name, before anything is sent. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, locked, memory } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock });
});

/** Calls with options, and one option of each. */
const CALLS: readonly (readonly [name: string, option: string, call: (o: never) => unknown])[] = [
  ['Holdfast', 'ttl', (o) => new Holdfast(memory(), o)],
  ['Holdfast', 'longHold', (o) => new Holdfast(memory(), o)],
  ['mutex', 'ttl', (o) => holdfast.mutex('k', o)],
  ['mutex', 'reentrant', (o) => holdfast.mutex('k', o)],
  ['acquire', 'ttl', (o) => holdfast.mutex('k').acquire(o)],
  ['tryAcquire', 'wait', (o) => holdfast.mutex('k').tryAcquire(o)],
  ['run', 'signal', (o) => holdfast.mutex('k').run(() => 1, o)],
  ['allOf', 'wait', (o) => holdfast.allOf(['k'], o)],
  ['allOf.acquire', 'ttl', (o) => holdfast.allOf(['k']).acquire(o)],
  ['rwLock', 'ttl', (o) => holdfast.rwLock('k', o)],
  ['semaphore', 'permits', (o) => holdfast.semaphore('k', o)],
  ['semaphore.run', 'permits', (o) => holdfast.semaphore('k', { permits: 2 }).run(() => 1, o)],
  ['election', 'ttl', (o) => holdfast.election('k', o)],
  ['campaign', 'wait', (o) => holdfast.election('k').campaign(o)],
  ['schedule', 'atLeast', (o) => holdfast.schedule('k', o)],
  ['runOnce', 'slot', (o) => holdfast.schedule('k', { atLeast: 0 }).runOnce(() => 1, o)],
  ['singleFlight', 'ttl', (o) => holdfast.singleFlight('k', o)],
  ['latch', 'count', (o) => holdfast.latch('k', o)],
  ['barrier', 'parties', (o) => holdfast.barrier('k', o)],
  ['ownerLocks.lock', 'renew', (o) => holdfast.ownerLocks.lock('k', 'me', 500, o)],
  ['forceRelease', 'id', (o) => holdfast.forceRelease('k', o)],
  ['close', 'grace', (o) => holdfast.close(o)],
  ['locked', 'ttl', (o) => locked(holdfast, 'k', o)({}, 'work', { value: async () => 1 })],
];

async function refused(call: (o: never) => unknown, options: object): Promise<string | undefined> {
  const calling = later((async () => call(options as never))());
  await clock.advance(50);
  const { option } = await failure(calling, 'HOLDFAST_BAD_OPTION');
  expect(store.batches).toEqual([]);
  return option;
}

describe.each(CALLS)('%s refuses %s', (_, option, call) => {
  it('of a getter of a class', async () => {
    class Config {}
    Object.defineProperty(Config.prototype, option, { get: () => 1 });
    expect(await refused(call, new Config())).toBe(option);
  });

  it('of another object', async () => {
    expect(await refused(call, Object.create({ [option]: 1 }))).toBe(option);
  });

  it.each([
    ['a Map', () => new Map([[option, 1]])],
    ['a Set', () => new Set([option])],
    ['an array', () => []],
    ['a Date', () => new Date(0)],
    ['an AbortSignal', () => new AbortController().signal],
  ])('of %s', async (_, options) => {
    expect(await refused(call, options())).toBe('options');
  });
});

describe('an instance of a class', () => {
  class Config {
    ttl = 4000;
    get half(): number {
      return this.ttl / 2;
    }
    get label(): undefined {
      return undefined;
    }
  }

  it('with own fields is accepted, whatever else its class has', async () => {
    const lease = later(holdfast.mutex('k', new Config()).acquire());
    await clock.advance(1);
    expect((await lease).remaining).toBeGreaterThan(3000);
    expect((await lease).remaining).toBeLessThanOrEqual(4000);
  });

  it('of a class that overrides the getter of another one is accepted', async () => {
    class Other extends Config {
      override ttl = 3000;
    }
    void holdfast.mutex('k').acquire(new Other());
    await clock.advance(1);
    expect(store.seen('acquire').at(-1)).toMatchObject({ ttl: 3000 });
  });

  it('without any option is accepted', async () => {
    void holdfast.mutex('k').acquire(new (class {})());
    void holdfast.mutex('j').acquire(Object.create(null) as object);
    await clock.advance(1);
    expect(store.seen('acquire')).toHaveLength(2);
  });
});
