/**
 * Several locks acquired together, at the level of commands: the number of round trips, lost
 * replies, and the fixed order that prevents deadlock.
 */
import { describe, expect, it } from 'vitest';
import { Core } from '../../src/acquire/core.js';
import type { KeyCommand } from '../../src/engine/commands.js';
import { Holdfast } from '../../src/index.js';
import { Lease } from '../../src/lease/lease.js';
import { resolveSettings } from '../../src/base/options.js';
import { Acquirer } from '../../src/primitives/acquirer.js';
import { MultiAcquire } from '../../src/primitives/multi-acquire.js';
import { circle } from '../support/waits-for.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { failure, later } from '../suites/helpers.js';

const KEYS = ['a', 'b', 'c', 'd', 'e'];

function setUp(): { clock: VirtualClock; store: WatchedStore; holdfast: Holdfast } {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  return { clock, store, holdfast: new Holdfast(store, { clock }) };
}

/** Commands since the last call, as one word for each batch: `acquire×5`. */
function batches(store: WatchedStore): string[] {
  const seen = store.batches.splice(0);
  return seen.map((batch) => {
    const ops = new Set(batch.map(({ op }) => op));
    return `${[...ops].join('+')}×${batch.length}`;
  });
}

describe('round trips', () => {
  it('take one to acquire, one to extend and one to release, if all locks are free', async () => {
    const { store, holdfast } = setUp();
    const lease = await holdfast.allOf([...KEYS, ...KEYS].reverse()).acquire();
    expect(batches(store)).toEqual(['acquire×5']);
    await lease.extend(60_000);
    expect(batches(store)).toEqual(['renew×5']);
    await lease.ensure(1);
    expect(batches(store)).toEqual([]);
    await lease.release();
    expect(batches(store)).toEqual(['release×5']);
  });

  it('take one more to extend for a lock whose answer came long before the last one', async () => {
    const { clock, store } = setUp();
    const holdfast = new Holdfast(store, { clock, requestTimeout: 60_000 });
    const lease = await holdfast.allOf(['a', 'b']).acquire({ ttl: 300_000, renew: false });
    for (const call of ['extend', 'ensure'] as const) {
      const ms = lease.remaining + 60_000;
      const late = ['b'];
      store.fate = ({ key }) => (key === late[0] ? Number(late.pop() && 20_000) : 'answered');
      batches(store);
      const extended = lease[call](ms);
      await clock.advance(20_000);
      expect(await extended).toBeGreaterThanOrEqual(ms);
      expect(batches(store)[0]).toBe('renew×2');
      expect(store.batches).toEqual([]);
    }
  });

  it('send two thousand keys in one turn, in batches of the maximum size', async () => {
    const { store, holdfast } = setUp();
    const keys = Array.from({ length: 2000 }, (_, index) => `key ${index}`);
    let turns = 0;
    const taking = holdfast.allOf(keys).acquire();
    setImmediate(() => {
      turns = store.batches.length;
    });
    const lease = await taking;
    await settle();
    expect(turns).toBe(4);
    expect(batches(store)).toEqual(Array.from({ length: 4 }, () => 'acquire×500'));
    await lease.release();
    expect(batches(store)).toEqual(Array.from({ length: 4 }, () => 'release×500'));
  });

  it('take one to try and one to release, if a key is held', async () => {
    const { store, holdfast } = setUp();
    const single = await holdfast.mutex('c').acquire();
    batches(store);
    expect(await holdfast.allOf(KEYS).tryAcquire()).toBeNull();
    await settle();
    expect(batches(store)).toEqual(['acquire×5', 'release×4']);
    await single.release();
  });

  it('take two more for each awaited key: join its queue, release the keys after it', async () => {
    const { store, holdfast } = setUp();
    // not one that could hand its lease on
    const single = await holdfast.mutex('c').acquire({ fair: true });
    await settle();
    batches(store);
    const taking = holdfast.allOf(KEYS).acquire();
    await settle();
    // The two later keys are released as it joins the queue. The second time it names the channel.
    expect(batches(store)).toEqual(['acquire×5', 'release×2', 'acquire×1', 'acquire×1']);
    await single.release();
    const lease = await taking;
    expect(lease.held).toBe(true);
    // the pushed lease is claimed
    expect(batches(store)).toEqual(['release×1', 'renew×1', 'acquire×2']);
  });
});

it('has one wait limit for all keys together', async () => {
  const { clock, holdfast } = setUp();
  const take = (key: string): Promise<Lease> => holdfast.mutex(key).acquire({ fair: true });
  const [first] = await Promise.all(['a', 'b'].map(take));
  const waiting = later(holdfast.allOf(['a', 'b']).acquire({ wait: 1000 }));
  await clock.advance(600);
  await first?.release();
  await clock.advance(399);
  expect((await holdfast.inspect('b'))?.waiterCount).toBe(1);
  await clock.advance(1);
  const error = await failure(waiting, 'HOLDFAST_TIMEOUT');
  expect(error).toMatchObject({ key: 'b', message: expect.stringContaining('within 1000 ms') });
  await clock.advance(1);
  expect(await holdfast.inspect('a')).toBeNull();
  expect((await holdfast.inspect('b'))?.waiterCount).toBe(0);
});

describe('lost replies', () => {
  it('to a try leave no lease: the grants are withdrawn', async () => {
    const { clock, store, holdfast } = setUp();
    store.fate = (command: KeyCommand) =>
      command.op === 'acquire' && command.key === 'c' ? 'answer lost' : 'answered';
    const trying = later(holdfast.allOf(KEYS).tryAcquire());
    await clock.advance(2001);
    const error = await failure(trying, 'HOLDFAST_UNREACHABLE');
    expect(error.key).toBe('c');
    await clock.advance(100);
    for (const key of KEYS) expect(await holdfast.inspect(key)).toBeNull();
  });

  it('to an acquisition that waits are requested again', async () => {
    const { clock, store, holdfast } = setUp();
    store.fate = ({ op, key }) => (op === 'acquire' && key === 'b' ? 'answer lost' : 'answered');
    const taking = holdfast.allOf(KEYS).acquire();
    await clock.advance(2001);
    store.heal();
    await clock.advance(5000);
    const lease = await taking;
    expect(lease.held).toBe(true);
    expect([...lease.fences.keys()]).toEqual(KEYS);
  });

  it('to a release are requested again until no lease remains', async () => {
    const { clock, store, holdfast } = setUp();
    const single = await holdfast.mutex('e').acquire();
    store.ail('release', 'lost');
    expect(await holdfast.allOf(KEYS).tryAcquire()).toBeNull();
    expect((await holdfast.inspect('a'))?.holders).toHaveLength(1);
    await clock.advance(3000);
    store.heal();
    await clock.advance(3000);
    for (const key of ['a', 'b', 'c', 'd']) expect(await holdfast.inspect(key)).toBeNull();
    await single.release();
  });

  it('to a release are reported only for the key without a reply', async () => {
    const { clock, store, holdfast } = setUp();
    const lease = await holdfast.allOf(['a', 'b', 'c']).acquire();
    store.fate = ({ op, key }) => (op === 'release' && key === 'b' ? 'lost' : 'answered');
    const releasing = later(lease.release());
    await clock.advance(10_000);
    expect((await failure(releasing, 'HOLDFAST_UNCERTAIN')).key).toBe('b');
    expect(Object.fromEntries(lease.outcomes)).toEqual({ a: 'freed', b: 'uncertain', c: 'freed' });
    expect(await holdfast.inspect('a')).toBeNull();
  });

  it('end a lease at its deadline, and with it the whole MultiLease', async () => {
    const { clock, store, holdfast } = setUp();
    const lease = await holdfast.allOf(['a', 'b', 'c']).acquire();
    store.fate = ({ op, key }) => (op === 'renew' && key === 'b' ? 'lost' : 'answered');
    await clock.advance(9000);
    expect(lease.held).toBe(true);
    await clock.advance(1000);
    expect(lease.signal.reason).toMatchObject({ code: 'HOLDFAST_LOST', key: 'b' });
    expect(lease.remaining).toBe(0);
    // The other leases are held until their release.
    expect((await holdfast.inspect('a'))?.holders).toHaveLength(1);
    expect(await lease.release()).toBe('lost');
    expect(Object.fromEntries(lease.outcomes)).toEqual({ a: 'freed', b: 'lost', c: 'freed' });
  });
});

describe('the order of keys', () => {
  /** Two callers that want both `a` and `z`, and each a third key that is held at first. */
  async function crossing(sorted: boolean): Promise<string[] | undefined> {
    const { clock, store } = setUp();
    const settings = resolveSettings({ clock });
    const core = new Core(store, settings, (_, error) => error);
    const holdfast = new Holdfast(store, { clock });
    const take = (label: string, keys: string[]): void => {
      const order = sorted ? [...keys].sort() : keys;
      const acquirers = order.map(
        (key) => new Acquirer<Lease>(core, { key, kind: 'mutex', capacity: 1 }, { label }, Lease),
      );
      const bounds = { wait: 60_000, signal: undefined };
      const taking = new MultiAcquire(core, acquirers, {}, bounds).take();
      later(taking).then(
        (got) => got?.leases.forEach((lease) => void lease.release()),
        () => undefined,
      );
    };
    const gates = await Promise.all(['m', 'n'].map((key) => holdfast.mutex(key).acquire()));
    take('one', ['a', 'm', 'z']);
    await clock.advance(10);
    take('other', ['z', 'n', 'a']);
    await clock.advance(10);
    for (const gate of gates) await gate.release();
    await clock.advance(5000);
    const found = await circle(holdfast, ['a', 'm', 'n', 'z']);
    await clock.advance(100_000);
    for (const key of ['a', 'm', 'n', 'z']) expect(await holdfast.inspect(key)).toBeNull();
    return found;
  }

  it('prevents a deadlock', async () => {
    expect(await crossing(true)).toBeUndefined();
  });

  it('is the reason: without it the two callers deadlock, and the test detects it', async () => {
    expect(new Set(await crossing(false))).toEqual(new Set(['one', 'other']));
  });
});
